import CLibcamera
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An acquired camera: libcamera's session, with errors of this package. Belongs to the capture thread.
final class LibcameraSession {
    let device: LibcameraDevice
    private let session: OpaquePointer
    private(set) var buffers: [LibcameraBuffer] = []
    /// How many buffers the camera has, to fill them.
    private(set) var queuedCount = 0

    /// Acquires the camera.
    ///
    /// - Throws: `deviceBusy`, `deviceNotFound`, `permissionDenied`, `system`.
    init(opening device: LibcameraDevice) throws(CaptureError) {
        self.device = device
        var opened: OpaquePointer?
        let result = lc_session_open(device.id, &opened)
        guard result == 0, let opened else {
            throw LibcameraSession.error("open the camera", device, result)
        }
        session = opened
    }

    deinit { lc_session_close(session) }

    /// Readable once a frame is complete or the camera has gone.
    var descriptor: Int32 { lc_session_descriptor(session) }

    // MARK: Format

    /// The formats that the camera offers.
    func formats() throws(CaptureError) -> [OfferedFormat] {
        var list = [lc_format](repeating: lc_format(), count: 64)
        let count = try check("list the formats", lc_session_formats(session, &list, Int32(list.count)))
        return list.prefix(count).map { format in
            var numbers = [UInt32](repeating: 0, count: 2 * 64)
            let sizes = min(64, max(0, Int(lc_session_sizes(session, format.fourcc, &numbers, 64))))
            return OfferedFormat(
                format,
                sizes: (0..<sizes).map { PixelSize(width: Int(numbers[2 * $0]), height: Int(numbers[2 * $0 + 1])) })
        }
    }

    /// Sets format and size, and returns what the camera has taken.
    func configure(_ format: OfferedFormat, _ size: PixelSize, buffers: Int) throws(CaptureError) -> lc_stream {
        self.buffers = []
        var stream = lc_stream()
        try check(
            "set the format",
            lc_session_configure(
                session, format.fourCC.rawValue, UInt32(size.width), UInt32(size.height), UInt32(buffers), &stream))
        return stream
    }

    // MARK: Controls

    /// The camera's controls.
    func controls() throws(CaptureError) -> [LibcameraControl] {
        var list = [lc_control](repeating: lc_control(), count: 128)
        let count = try check("list the controls", lc_session_controls(session, &list, Int32(list.count)))
        return list.prefix(count).map(LibcameraControl.init).sorted { $0.name < $1.name }
    }

    /// Sets a control with the next frame that the camera begins.
    func set(_ control: LibcameraControl, to value: Double) throws(CaptureError) {
        try check("set \(control.name)", lc_session_set(session, control.id, value))
    }

    // MARK: Stream

    /// Allocates and maps the buffers, starts the camera, and hands it all buffers.
    func start(_ format: StreamFormat, rate: FrameRate) throws(CaptureError) {
        if buffers.isEmpty {
            let count = try check("allocate buffers", lc_session_allocate(session))
            for index in 0..<count {
                var buffer = lc_buffer()
                try check("share a buffer", lc_session_buffer(session, Int32(index), &buffer))
                buffers.append(try LibcameraBuffer(buffer, format))
            }
        }
        let duration = Int64(rate.frameInterval.nanoseconds / 1000)
        try check("start the camera", lc_session_start(session, duration, duration))
        queuedCount = 0
        for index in buffers.indices {
            // Those that frames still hold follow when they are released.
            if buffers[index].isReusable() { try queue(index) } else { buffers[index].holder = .frame }
        }
    }

    /// Stops the camera; a frame that a consumer keeps stays valid.
    func stop() {
        _ = lc_session_stop(session)
        queuedCount = 0
    }

    /// Hands a buffer to the camera.
    func queue(_ index: Int) throws(CaptureError) {
        try check("queue a buffer", lc_session_queue(session, Int32(index)))
        buffers[index].holder = .camera
        queuedCount += 1
    }

    /// Hands the buffers of released frames to the camera again.
    func reclaim() throws(CaptureError) {
        for index in buffers.indices where buffers[index].holder == .frame {
            if buffers[index].isReusable() {
                buffers[index].endRead()
                try queue(index)
            }
        }
    }

    /// The next completed buffer, which is the caller's then; nil while no buffer is complete.
    ///
    /// - Throws: `deviceLost` when the camera has gone.
    func take() throws(CaptureError) -> lc_frame? {
        var frame = lc_frame()
        let result = lc_session_take(session, &frame)
        if result == -EAGAIN { return nil }
        try check("take a frame", result)
        queuedCount -= 1
        buffers[Int(frame.index)].holder = .us
        return frame
    }

    /// Throws `deviceLost` when the camera's device has gone. Where no frame comes, libcamera may say nothing of it.
    func checkPresence() throws(CaptureError) {
        if lc_session_has_gone(session) == 1 { try check("wait for a frame", -ENODEV) }
    }

    // MARK: Errors

    @discardableResult
    private func check(_ operation: String, _ result: Int32) throws(CaptureError) -> Int {
        guard result >= 0 else { throw LibcameraSession.error(operation, device, result) }
        return Int(result)
    }

    private static func error(_ operation: String, _ device: LibcameraDevice, _ result: Int32) -> CaptureError {
        let (code, message): (CaptureErrorCode, String) =
            switch -result {
            case EBUSY:
                (
                    .deviceBusy,
                    "Another program has the camera; end it, or wait for it: fuser /dev/media* shows which it is."
                )
            case ENODEV, ENOENT: (.deviceLost, "The camera has gone; check its cable.")
            case EACCES, EPERM:
                (
                    .permissionDenied,
                    "No permission to use the camera; add the user to the group video, and log in again."
                )
            case EINVAL: (.formatUnsupported, "The camera refuses that; choose another size.")
            case ENOMEM:
                (
                    .outOfMemory,
                    "There is no memory left for the camera's buffers; choose a smaller size, or a larger CMA."
                )
            default: (.system, "The camera has failed; LIBCAMERA_LOG_LEVELS=*:DEBUG shows why.")
            }
        return CaptureError(code, operation: operation, subject: device.name, errno: -result, message: message)
    }
}

/// What a camera can do, for listings. Acquires it for a moment.
struct LibcameraDetails {
    /// As text: `NV12 32x32 to 4608x2592`.
    let formats: [String]
    let controls: [LibcameraControl]

    /// - Throws: the errors of opening, such as `deviceBusy`.
    init(_ device: LibcameraDevice) throws(CaptureError) {
        let session = try LibcameraSession(opening: device)
        formats = try session.formats().map { "\($0.fourCC) \($0.smallest) to \($0.largest)" }
        controls = try session.controls()
    }
}
