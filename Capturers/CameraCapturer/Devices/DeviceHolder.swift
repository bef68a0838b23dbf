import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension CameraDevice {
    /// A process that has a camera open.
    public struct Holder: Sendable, Hashable {
        /// The process identifier.
        public let processID: Int32
        /// The program's name, as the kernel has it: up to 15 characters.
        public let name: String
        /// Whether it is the calling process.
        public var isThisProgram: Bool { processID == getpid() }

        /// The process that has the node open, another one in preference to this one; nil when none is visible: the
        /// descriptors of other users' programs are not.
        static func find(_ path: String, processes: String = "/proc") -> CameraDevice.Holder? {
            let holders = all(path, processes: processes)
            return holders.first { !$0.isThisProgram } ?? holders.first
        }

        /// All visible processes that have the node open, by process identifier.
        static func all(_ path: String, processes: String = "/proc") -> [CameraDevice.Holder] {
            guard let device = FileReading.status(of: path), device.st_mode & S_IFMT == S_IFCHR else { return [] }
            let numbers = (FileReading.names(in: processes) ?? []).compactMap { Int32($0) }.sorted()
            return numbers.compactMap { number in
                guard holds(device.st_rdev, "\(processes)/\(number)/fd") else { return nil }
                return CameraDevice.Holder(
                    processID: number, name: FileReading.line(of: "\(processes)/\(number)/comm") ?? "process")
            }
        }

        private static func holds(_ device: dev_t, _ folder: String) -> Bool {
            (FileReading.names(in: folder) ?? []).contains { name in
                let descriptor = "\(folder)/\(name)"
                // Only targets in a /dev, so that a file on an unreachable server is not touched.
                guard let target = FileReading.target(of: descriptor), target.contains("/dev/") else { return false }
                guard let status = FileReading.status(of: descriptor) else { return false }
                return status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == device
            }
        }

        /// The error for a camera that another program uses.
        static func busyError(path: String, errno number: Int32, processes: String = "/proc") -> CaptureError {
            let next: (holder: String, step: String) =
                switch find(path, processes: processes) {
                case .some(let holder) where holder.isThisProgram:
                    ("this program itself", "stop the other capture of it first")
                case .some(let holder): ("\(holder)", "close it, or choose another camera")
                case nil:
                    (
                        "another user's program",
                        "find it with \"sudo fuser -v \(path)\" and close it, or choose another camera"
                    )
                }
            return CaptureError(
                .deviceBusy, operation: "open", subject: path, errno: number,
                message: "The camera is in use by \(next.holder); \(next.step).")
        }
    }
}

extension CameraDevice.Holder: CustomStringConvertible {
    /// `obs (pid 1234)`.
    public var description: String { isThisProgram ? "this program" : "\(name) (pid \(processID))" }
}

extension CameraDevice {
    /// The process that has the camera open now, whether or not it captures, another one in preference to this one.
    /// Takes some milliseconds.
    ///
    /// - Returns: nil without one, or if it is not visible, as other users' programs.
    public func holder() -> CameraDevice.Holder? { CameraDevice.Holder.find(path) }
}
