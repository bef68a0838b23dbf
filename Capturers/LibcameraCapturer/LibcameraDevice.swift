import CLibcamera
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A camera that libcamera lists.
public struct LibcameraDevice: Sendable, Hashable {
    /// Where a camera is mounted.
    public enum Location: String, Sendable, Hashable {
        case front, back, external
    }

    /// The name that libcamera gives the camera. It stays the same over restarts of the machine.
    public let id: String
    /// The model of the sensor, such as `imx708`; empty where libcamera does not know it.
    public let model: String
    /// Where the camera is mounted; nil where that is unknown.
    public let location: Location?

    /// The name to show: the model, or the identifier for an unknown model.
    public var name: String { model.isEmpty ? id : model }

    /// The version of libcamera that this program was built with, as in `0.0.3`; nil where it was built without.
    public static var libraryVersion: String? { lc_version().map { String(cString: $0) } }

    /// The cameras, in libcamera's order. Those of USB are left out: they are V4L2 cameras, which `CameraCapturer` captures.
    ///
    /// The first call starts libcamera in this process, where it stays.
    ///
    /// - Returns: an empty list where this program was built without libcamera.
    /// - Throws: `system` when libcamera does not start.
    public static func cameras() throws(CaptureError) -> [LibcameraDevice] {
        var list = [lc_camera](repeating: lc_camera(), count: 64)
        let count = lc_list(&list, Int32(list.count))
        if count == -ENOSYS { return [] }
        guard count >= 0 else {
            throw CaptureError(
                .system, operation: "start libcamera", errno: -count,
                message: "libcamera does not start; LIBCAMERA_LOG_LEVELS=*:DEBUG shows why.")
        }
        return list.prefix(Int(count)).map(LibcameraDevice.init).filter { !$0.isUSB }
    }

    /// For tests.
    package init(id: String, model: String) {
        self.id = id
        self.model = model
        location = nil
    }

    /// Lets libcamera look for cameras from the beginning at the next call, because it may have missed one that came while it
    /// started; unless a camera is open.
    static func searchAgain() { lc_restart() }

    init(_ camera: lc_camera) {
        var camera = camera
        id = cText(&camera.id)
        model = cText(&camera.model)
        location =
            switch camera.location {
            case 0: .front
            case 1: .back
            case 2: .external
            default: nil
            }
    }

    /// Whether libcamera's handler of USB cameras made the identifier: `CONTROLLER-2-1:1.0-046d:0825`, which ends with the
    /// interface, and the numbers of vendor and product.
    var isUSB: Bool { LibcameraDevice.isUSB(id) }

    package static func isUSB(_ id: String) -> Bool {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return false }
        let numbers = parts[parts.count - 1].split(separator: ":", omittingEmptySubsequences: false)
        let place = parts[parts.count - 2]
        return numbers.count == 2 && numbers.allSatisfy { $0.count == 4 && $0.allSatisfy(\.isHexDigit) }
            && place.contains(":") && place.allSatisfy { $0.isNumber || $0 == "." || $0 == ":" }
    }

    /// The camera that a user names.
    ///
    /// - Throws: `deviceNotFound`; `invalidConfiguration` for an empty name, or one that fits several cameras.
    package static func find(_ name: String?, in cameras: [LibcameraDevice]) throws(CaptureError) -> LibcameraDevice {
        let operation = "find the camera"
        guard let first = cameras.first else {
            throw CaptureError(
                .deviceNotFound, operation: operation, subject: name,
                message: libraryVersion == nil
                    ? "This program was built without libcamera; install libcamera-dev and build it again."
                    : "libcamera finds no camera, or another program has it; check the cable, and that udev runs: "
                        + "cam --list shows the same.")
        }
        guard let name else { return first }
        guard !name.allSatisfy(\.isWhitespace) else {
            throw CaptureError(
                .invalidConfiguration, operation: operation,
                message: "The name of the camera is empty; give its identifier or a part of its name.")
        }
        let wanted = name.lowercased()
        if let exact = cameras.first(where: { $0.id == name }) { return exact }
        let fitting = cameras.filter {
            $0.id.lowercased().contains(wanted) || $0.model.lowercased().contains(wanted)
        }
        let list = (fitting.isEmpty ? cameras : fitting).prefix(8).map { printable($0.description, limit: 160) }
            .joined(separator: ", ")
        guard let found = fitting.first else {
            throw CaptureError(
                .deviceNotFound, operation: operation, subject: name,
                message: "libcamera has no such camera; there is \(list).")
        }
        guard fitting.count == 1 else {
            throw CaptureError(
                .invalidConfiguration, operation: operation, subject: name,
                message: "This fits \(fitting.count) cameras; choose by identifier: \(list).")
        }
        return found
    }
}

extension LibcameraDevice: CustomStringConvertible {
    /// `imx708 (/base/soc/i2c0mux/i2c@1/imx708@1a)`.
    public var description: String { model.isEmpty ? id : "\(model) (\(id))" }
}

/// The text of an array of characters of C.
func cText<Characters>(_ characters: inout Characters) -> String {
    withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
