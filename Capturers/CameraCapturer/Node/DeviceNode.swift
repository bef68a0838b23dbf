import CLibV4L2

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open node of a V4L2 device. Belongs to one thread; closed at the latest when it is destroyed.
final class DeviceNode {
    /// The path: `/dev/video0`.
    let path: String
    let calls: any DeviceCalls
    private(set) var descriptor: Int32
    /// The capabilities when the node was opened.
    let capabilities: DeviceCapabilities

    /// Opens the node and queries its capabilities; never blocks.
    ///
    /// - Throws: the failure of `open` or of `VIDIOC_QUERYCAP`.
    init(opening path: String, calls: any DeviceCalls) throws(IoctlFailure) {
        self.path = path
        self.calls = calls
        let opened = DeviceNode.repeatingIfInterrupted { calls.open(path) }
        guard opened >= 0 else { throw IoctlFailure(request: "open", number: -opened) }
        var capability = v4l2_capability()
        do throws(IoctlFailure) {
            try DeviceNode.request(.queryCapabilities, &capability, descriptor: opened, calls: calls)
        } catch {
            calls.close(opened)
            throw error
        }
        descriptor = opened
        capabilities = DeviceCapabilities(capability)
    }

    deinit { close() }

    /// Closes the node. Mapped memory stays.
    func close() {
        guard descriptor >= 0 else { return }
        calls.close(descriptor)
        descriptor = -1
    }

    /// - Throws: when the device is gone.
    func checkPresence() throws(IoctlFailure) {
        var capability = v4l2_capability()
        try request(.queryCapabilities, &capability)
    }

    /// Makes a request to the driver; repeats it when a signal interrupts.
    @discardableResult
    func request<Argument>(_ request: DeviceRequest, _ argument: inout Argument) throws(IoctlFailure) -> Int32 {
        try DeviceNode.request(request, &argument, descriptor: descriptor, calls: calls)
    }

    @discardableResult
    private static func request<Argument>(
        _ request: DeviceRequest, _ argument: inout Argument, descriptor: Int32, calls: any DeviceCalls
    ) throws(IoctlFailure) -> Int32 {
        let result = withUnsafeMutablePointer(to: &argument) { pointer in
            repeatingIfInterrupted { calls.ioctl(descriptor, request.code, pointer) }
        }
        guard result >= 0 else { throw IoctlFailure(request: request.name, number: -result) }
        return result
    }

    /// Repeats a call that a signal interrupts; bounded, so that a driver that always returns `EINTR` cannot block the
    /// thread.
    private static func repeatingIfInterrupted(_ call: () -> Int32) -> Int32 {
        var result = call()
        var attempts = 1
        while result == -EINTR, attempts < 100 {
            result = call()
            attempts += 1
        }
        return result
    }
}

/// A call that the driver has refused.
struct IoctlFailure: Error, Hashable {
    /// The request, as the V4L2 specification names it: `VIDIOC_STREAMON`.
    let request: String
    /// The `errno`.
    let number: Int32

    /// The device is gone; this descriptor stays unusable.
    var isDeviceGone: Bool { number == ENODEV || number == ENXIO }
    /// The driver does not support the request, or the enumeration is at its end.
    var isUnsupported: Bool { number == ENOTTY || number == EINVAL }
    /// There is nothing to read yet.
    var isAgain: Bool { number == EAGAIN }
}

/// A request of the V4L2 API (`linux/videodev2.h`) and its name.
struct DeviceRequest {
    let code: UInt
    let name: String

    private init(_ code: UInt, _ name: String) {
        self.code = code
        self.name = "VIDIOC_" + name
    }

    static let queryCapabilities = DeviceRequest(clibv4l2_QUERYCAP, "QUERYCAP")
    static let enumerateFormats = DeviceRequest(clibv4l2_ENUM_FMT, "ENUM_FMT")
    static let getFormat = DeviceRequest(clibv4l2_G_FMT, "G_FMT")
    static let setFormat = DeviceRequest(clibv4l2_S_FMT, "S_FMT")
    static let tryFormat = DeviceRequest(clibv4l2_TRY_FMT, "TRY_FMT")
    static let enumerateFrameSizes = DeviceRequest(clibv4l2_ENUM_FRAMESIZES, "ENUM_FRAMESIZES")
    static let enumerateFrameIntervals = DeviceRequest(clibv4l2_ENUM_FRAMEINTERVALS, "ENUM_FRAMEINTERVALS")
    static let getParameters = DeviceRequest(clibv4l2_G_PARM, "G_PARM")
    static let setParameters = DeviceRequest(clibv4l2_S_PARM, "S_PARM")
    static let requestBuffers = DeviceRequest(clibv4l2_REQBUFS, "REQBUFS")
    static let queryBuffer = DeviceRequest(clibv4l2_QUERYBUF, "QUERYBUF")
    static let queueBuffer = DeviceRequest(clibv4l2_QBUF, "QBUF")
    static let dequeueBuffer = DeviceRequest(clibv4l2_DQBUF, "DQBUF")
    static let exportBuffer = DeviceRequest(clibv4l2_EXPBUF, "EXPBUF")
    static let streamOn = DeviceRequest(clibv4l2_STREAMON, "STREAMON")
    static let streamOff = DeviceRequest(clibv4l2_STREAMOFF, "STREAMOFF")
    static let enumerateInputs = DeviceRequest(clibv4l2_ENUMINPUT, "ENUMINPUT")
    static let getInput = DeviceRequest(clibv4l2_G_INPUT, "G_INPUT")
    static let queryStandard = DeviceRequest(clibv4l2_QUERYSTD, "QUERYSTD")
    static let setStandard = DeviceRequest(clibv4l2_S_STD, "S_STD")
    static let queryTimings = DeviceRequest(clibv4l2_QUERY_DV_TIMINGS, "QUERY_DV_TIMINGS")
    static let setTimings = DeviceRequest(clibv4l2_S_DV_TIMINGS, "S_DV_TIMINGS")
    static let subscribeEvent = DeviceRequest(clibv4l2_SUBSCRIBE_EVENT, "SUBSCRIBE_EVENT")
    static let dequeueEvent = DeviceRequest(clibv4l2_DQEVENT, "DQEVENT")
    static let queryControl = DeviceRequest(clibv4l2_QUERY_EXT_CTRL, "QUERY_EXT_CTRL")
    static let queryMenu = DeviceRequest(clibv4l2_QUERYMENU, "QUERYMENU")
    static let getControls = DeviceRequest(clibv4l2_G_EXT_CTRLS, "G_EXT_CTRLS")
    static let setControls = DeviceRequest(clibv4l2_S_EXT_CTRLS, "S_EXT_CTRLS")
}

/// The capabilities of a node (`VIDIOC_QUERYCAP`).
struct DeviceCapabilities: Hashable, Sendable {
    /// The driver's name: `uvcvideo`.
    var driver: String
    /// The device's name to show.
    var card: String
    /// Where it is attached: `usb-0000:00:14.0-1`.
    var bus: String
    /// The capabilities of this node, not of the whole device: `V4L2_CAP_…`.
    var flags: UInt32

    /// Whether frames are captured in several planes of memory (`V4L2_CAP_VIDEO_CAPTURE_MPLANE`).
    var isMultiplanar: Bool { !has(V4L2_CAP_VIDEO_CAPTURE) && has(V4L2_CAP_VIDEO_CAPTURE_MPLANE) }

    /// Whether the node captures frames into buffers that can be mapped; codecs, radios, metadata nodes and nodes that
    /// need a media graph do not.
    var isCamera: Bool {
        (has(V4L2_CAP_VIDEO_CAPTURE) || has(V4L2_CAP_VIDEO_CAPTURE_MPLANE)) && has(V4L2_CAP_STREAMING)
            && !has(V4L2_CAP_VIDEO_M2M) && !has(V4L2_CAP_VIDEO_M2M_MPLANE) && !has(V4L2_CAP_IO_MC)
    }

    /// Whether a wait in `VIDIOC_DQBUF` is known to end when another thread calls `VIDIOC_STREAMOFF`, and when the
    /// device is unplugged.
    ///
    /// `videobuf2` handles the first where the driver releases its lock meanwhile (`wait_prepare`); each driver must
    /// handle the second. So these are the drivers whose source was read, and which were tested with a device that
    /// disappears.
    var endsWaits: Bool { ["uvcvideo", "vivid"].contains(driver) }

    private func has(_ flag: Int32) -> Bool { flags & UInt32(bitPattern: flag) != 0 }
}

extension DeviceCapabilities {
    init(_ capability: v4l2_capability) {
        driver = text(capability.driver)
        card = text(capability.card)
        bus = text(capability.bus_info)
        let hasOwn = capability.capabilities & V4L2_CAP_DEVICE_CAPS != 0
        flags = hasOwn ? capability.device_caps : capability.capabilities
    }
}

/// The text in a field of fixed size, up to its first zero byte, without control characters.
func text<Field>(_ field: Field) -> String {
    withUnsafeBytes(of: field) { bytes in
        let characters = bytes.prefix { $0 != 0 }
        return String(decoding: characters, as: UTF8.self).filter { character in
            character.unicodeScalars.allSatisfy { $0.value >= 32 && !(127..<160).contains($0.value) }
        }
    }
}
