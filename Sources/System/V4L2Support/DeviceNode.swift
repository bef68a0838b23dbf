import CLibV4L2

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open node of a V4L2 device. Belongs to one thread; closed at the latest when it is destroyed.
package final class DeviceNode {
    /// The path: `/dev/video0`.
    package let path: String
    /// The system calls that it makes.
    package let calls: any DeviceCalls
    /// The open node; -1 once it is closed.
    package private(set) var descriptor: Int32
    /// The capabilities when the node was opened.
    package let capabilities: DeviceCapabilities

    /// Opens the node and queries its capabilities; never blocks.
    ///
    /// - Throws: the failure of `open` or of `VIDIOC_QUERYCAP`.
    package init(opening path: String, calls: any DeviceCalls) throws(IoctlFailure) {
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
    package func close() {
        guard descriptor >= 0 else { return }
        calls.close(descriptor)
        descriptor = -1
    }

    /// - Throws: when the device is gone.
    package func checkPresence() throws(IoctlFailure) {
        var capability = v4l2_capability()
        try request(.queryCapabilities, &capability)
    }

    /// Makes a request to the driver; repeats it when a signal interrupts.
    // Inlinable: as a generic of another module each call would have the types looked up at run time.
    @discardableResult
    @inlinable package func request<Argument>(_ request: DeviceRequest, _ argument: inout Argument) throws(IoctlFailure)
        -> Int32
    {
        try DeviceNode.request(request, &argument, descriptor: descriptor, calls: calls)
    }

    @discardableResult
    @inlinable package static func request<Argument>(
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
    @usableFromInline package static func repeatingIfInterrupted(_ call: () -> Int32) -> Int32 {
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
package struct IoctlFailure: Error, Hashable {
    /// The request, as the V4L2 specification names it: `VIDIOC_STREAMON`.
    package let request: String
    /// The `errno`.
    package let number: Int32

    /// A failure of a request, with its `errno`.
    @inlinable package init(request: String, number: Int32) {
        self.request = request
        self.number = number
    }

    /// The device is gone; this descriptor stays unusable.
    package var isDeviceGone: Bool { number == ENODEV || number == ENXIO }
    /// The driver does not support the request, or the enumeration is at its end.
    package var isUnsupported: Bool { number == ENOTTY || number == EINVAL }
    /// There is nothing to read yet.
    package var isAgain: Bool { number == EAGAIN }
}

/// A request of the V4L2 API (`linux/videodev2.h`) and its name.
package struct DeviceRequest: Sendable {
    /// The number of the request.
    package let code: UInt
    /// The name in the specification.
    package let name: String

    private init(_ code: UInt, _ name: String) {
        self.code = code
        self.name = "VIDIOC_" + name
    }

    package static let queryCapabilities = DeviceRequest(clibv4l2_QUERYCAP, "QUERYCAP")
    package static let enumerateFormats = DeviceRequest(clibv4l2_ENUM_FMT, "ENUM_FMT")
    package static let getFormat = DeviceRequest(clibv4l2_G_FMT, "G_FMT")
    package static let setFormat = DeviceRequest(clibv4l2_S_FMT, "S_FMT")
    package static let tryFormat = DeviceRequest(clibv4l2_TRY_FMT, "TRY_FMT")
    package static let enumerateFrameSizes = DeviceRequest(clibv4l2_ENUM_FRAMESIZES, "ENUM_FRAMESIZES")
    package static let enumerateFrameIntervals = DeviceRequest(clibv4l2_ENUM_FRAMEINTERVALS, "ENUM_FRAMEINTERVALS")
    package static let getParameters = DeviceRequest(clibv4l2_G_PARM, "G_PARM")
    package static let setParameters = DeviceRequest(clibv4l2_S_PARM, "S_PARM")
    package static let requestBuffers = DeviceRequest(clibv4l2_REQBUFS, "REQBUFS")
    package static let queryBuffer = DeviceRequest(clibv4l2_QUERYBUF, "QUERYBUF")
    package static let queueBuffer = DeviceRequest(clibv4l2_QBUF, "QBUF")
    package static let dequeueBuffer = DeviceRequest(clibv4l2_DQBUF, "DQBUF")
    package static let exportBuffer = DeviceRequest(clibv4l2_EXPBUF, "EXPBUF")
    package static let streamOn = DeviceRequest(clibv4l2_STREAMON, "STREAMON")
    package static let streamOff = DeviceRequest(clibv4l2_STREAMOFF, "STREAMOFF")
    package static let enumerateInputs = DeviceRequest(clibv4l2_ENUMINPUT, "ENUMINPUT")
    package static let getInput = DeviceRequest(clibv4l2_G_INPUT, "G_INPUT")
    package static let queryStandard = DeviceRequest(clibv4l2_QUERYSTD, "QUERYSTD")
    package static let setStandard = DeviceRequest(clibv4l2_S_STD, "S_STD")
    package static let queryTimings = DeviceRequest(clibv4l2_QUERY_DV_TIMINGS, "QUERY_DV_TIMINGS")
    package static let setTimings = DeviceRequest(clibv4l2_S_DV_TIMINGS, "S_DV_TIMINGS")
    package static let subscribeEvent = DeviceRequest(clibv4l2_SUBSCRIBE_EVENT, "SUBSCRIBE_EVENT")
    package static let dequeueEvent = DeviceRequest(clibv4l2_DQEVENT, "DQEVENT")
    package static let queryControl = DeviceRequest(clibv4l2_QUERY_EXT_CTRL, "QUERY_EXT_CTRL")
    package static let queryMenu = DeviceRequest(clibv4l2_QUERYMENU, "QUERYMENU")
    package static let getControls = DeviceRequest(clibv4l2_G_EXT_CTRLS, "G_EXT_CTRLS")
    package static let setControls = DeviceRequest(clibv4l2_S_EXT_CTRLS, "S_EXT_CTRLS")
    package static let cropCapabilities = DeviceRequest(clibv4l2_CROPCAP, "CROPCAP")
    package static let getSelection = DeviceRequest(clibv4l2_G_SELECTION, "G_SELECTION")
    package static let setSelection = DeviceRequest(clibv4l2_S_SELECTION, "S_SELECTION")
    package static let encoderCommand = DeviceRequest(clibv4l2_ENCODER_CMD, "ENCODER_CMD")
}

/// The capabilities of a node (`VIDIOC_QUERYCAP`).
package struct DeviceCapabilities: Hashable, Sendable {
    /// The driver's name: `uvcvideo`.
    package var driver: String
    /// The device's name to show.
    package var card: String
    /// Where it is attached: `usb-0000:00:14.0-1`.
    package var bus: String
    /// The capabilities of this node, not of the whole device: `V4L2_CAP_…`.
    package var flags: UInt32

    /// Whether frames are captured in several planes of memory (`V4L2_CAP_VIDEO_CAPTURE_MPLANE`).
    package var isMultiplanar: Bool { !has(V4L2_CAP_VIDEO_CAPTURE) && has(V4L2_CAP_VIDEO_CAPTURE_MPLANE) }

    /// Whether the node captures frames into buffers that can be mapped; codecs, radios, metadata nodes and nodes that
    /// need a media graph do not.
    package var isCamera: Bool {
        (has(V4L2_CAP_VIDEO_CAPTURE) || has(V4L2_CAP_VIDEO_CAPTURE_MPLANE)) && has(V4L2_CAP_STREAMING)
            && !has(V4L2_CAP_VIDEO_M2M) && !has(V4L2_CAP_VIDEO_M2M_MPLANE) && !has(V4L2_CAP_IO_MC)
    }

    /// Whether a wait in `VIDIOC_DQBUF` is known to end when another thread calls `VIDIOC_STREAMOFF`, and when the
    /// device is unplugged.
    ///
    /// `videobuf2` handles the first where the driver releases its lock meanwhile (`wait_prepare`); each driver must
    /// handle the second. So these are the drivers whose source was read, and which were tested with a device that
    /// disappears.
    package var endsWaits: Bool { ["uvcvideo", "vivid"].contains(driver) }

    /// Whether frames go in and others come out, as of codecs, scalers and converters.
    package var isMemoryToMemory: Bool {
        (has(V4L2_CAP_VIDEO_M2M) || has(V4L2_CAP_VIDEO_M2M_MPLANE)) && has(V4L2_CAP_STREAMING)
    }

    /// Whether the queues of a node for both directions are multi-planar (`V4L2_CAP_VIDEO_M2M_MPLANE`).
    package var isMemoryToMemoryMultiplanar: Bool { has(V4L2_CAP_VIDEO_M2M_MPLANE) }

    private func has(_ flag: Int32) -> Bool { flags & UInt32(bitPattern: flag) != 0 }
}

extension DeviceCapabilities {
    package init(_ capability: v4l2_capability) {
        driver = text(capability.driver)
        card = text(capability.card)
        bus = text(capability.bus_info)
        let hasOwn = capability.capabilities & V4L2_CAP_DEVICE_CAPS != 0
        flags = hasOwn ? capability.device_caps : capability.capabilities
    }
}

/// The text in a field of fixed size, up to its first zero byte, without control characters.
package func text<Field>(_ field: Field) -> String {
    withUnsafeBytes(of: field) { bytes in
        let characters = bytes.prefix { $0 != 0 }
        return String(decoding: characters, as: UTF8.self).filter { character in
            character.unicodeScalars.allSatisfy { $0.value >= 32 && !(127..<160).contains($0.value) }
        }
    }
}
