import CLibV4L2
import FrameProcessing
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Shows frames at an output device of V4L2, in its mapped buffers: after a writer that used `write` v4l2loopback (0.12.7) is of no
/// use until it is loaded again.
final class DeviceWriter: FeedbackConsumer {
    /// What v4l2loopback calls itself.
    static let loopbackDriver = "v4l2 loopback"

    let path: String
    /// The name that people see.
    let card: String
    let width: Int
    let height: Int
    /// What the user should know of the device; nil for nothing.
    let warning: String?

    private let state: Locked<State>
    private let onFailure: @Sendable (any Error) -> Void
    private let fitter = FrameFitter()
    private let processor = FrameProcessor(capacity: 4)
    private let pixelFormat: PixelFormat

    private struct State {
        /// Nil once it is closed.
        var queue: BufferQueue?
        let node: DeviceNode
        /// The distance between rows of luma.
        let stride: Int
        /// The bytes of a frame.
        let byteCount: Int
        /// The buffer of the last frame.
        var last = 0
        /// Whether the device gives buffers back at once.
        let isLoopback: Bool
        var counts: (shown: UInt64, dropped: UInt64) = (0, 0)
    }

    /// Opens a device and settles its format.
    ///
    /// - Parameters:
    ///   - path: the device.
    ///   - format: of the frames.
    ///   - onFailure: called once, when the device takes no more.
    init(
        _ path: String, _ format: VideoFormat, onFailure: @escaping @Sendable (any Error) -> Void
    ) throws(CaptureError) {
        let node: DeviceNode
        do {
            node = try DeviceNode(opening: path, calls: SystemDeviceCalls())
        } catch {
            throw DeviceWriter.failure(to: "open the device", path, error)
        }
        let flags = node.capabilities.flags
        func has(_ flag: Int32) -> Bool { flags & UInt32(bitPattern: flag) != 0 }
        let isLoopback = node.capabilities.driver == DeviceWriter.loopbackDriver
        // Of v4l2loopback that a program shows frames at, and which is a camera alone then.
        guard !isLoopback || has(V4L2_CAP_VIDEO_OUTPUT) || !has(V4L2_CAP_VIDEO_CAPTURE) else {
            throw DeviceWriter.busy(path)
        }
        guard isLoopback || has(V4L2_CAP_VIDEO_OUTPUT) && has(V4L2_CAP_STREAMING) else {
            throw CaptureError(
                .formatUnsupported, operation: "open the device", subject: path,
                message:
                    "\(node.capabilities.card) shows no frames; name a device of v4l2loopback, such as /dev/video20.")
        }
        // Against another run of this program; the kernel knows nothing of it.
        guard flock(node.descriptor, LOCK_EX | LOCK_NB) == 0 else { throw DeviceWriter.busy(path) }
        let (settled, pixelFormat) = try DeviceWriter.settle(node, format, path)
        DeviceWriter.setRate(format.estimatedFramesPerSecond ?? 30, of: node)
        let pixels = settled.fmt.pix
        (width, height) = (Int(pixels.width), Int(pixels.height))
        let stride = max(width, Int(pixels.bytesperline))
        let count = stride * height + 2 * ((stride + 1) / 2) * ((height + 1) / 2)
        let queue: BufferQueue
        do throws(IoctlFailure) {
            queue = try BufferQueue(node, .frames, memory: .mapped, count: 4)
            guard queue.bytes(of: 0).count >= count else {
                throw IoctlFailure(request: DeviceRequest.queryBuffer.name, number: EINVAL)
            }
            try queue.start()
        } catch {
            throw DeviceWriter.failure(to: "begin", path, error)
        }
        self.path = path
        card = node.capabilities.card
        self.pixelFormat = pixelFormat
        self.onFailure = onFailure
        warning =
            isLoopback && has(V4L2_CAP_VIDEO_CAPTURE) && has(V4L2_CAP_VIDEO_OUTPUT) && DeviceWriter.announcesAll(node)
            ? "\(path): browsers do not list this camera; load v4l2loopback with exclusive_caps=1."
            : nil
        state = Locked(
            State(queue: queue, node: node, stride: stride, byteCount: count, isLoopback: isLoopback))
    }

    /// Whether a device of v4l2loopback is an output and a camera at all times, by the module's parameters: a list with a value
    /// for each device, whose number ends the place where it is attached.
    private static func announcesAll(_ node: DeviceNode) -> Bool {
        let values =
            FileReading.line(of: "/sys/module/v4l2loopback/parameters/exclusive_caps")?.split(separator: ",") ?? []
        guard let number = node.capabilities.bus.split(separator: "-").last.flatMap({ Int($0) }),
            values.indices.contains(number)
        else { return false }
        return values[number] == "N"
    }

    /// Gives the device back.
    func close() {
        state.withLock { state in
            // Which stops streaming, by the node.
            state.queue = nil
            state.node.close()
        }
    }

    /// Frames that the device has taken, and those that it had no room for.
    var counts: (shown: UInt64, dropped: UInt64) { state.withLock { $0.counts } }

    // MARK: Frames

    func connectFeedback(_ feedback: CaptureFeedback?) {
        feedback?.updateWants(CaptureWants(minimumFrameRate: 5))
    }

    func consumeFrame(_ frame: VideoFrame) {
        guard state.withLock({ $0.queue != nil }) else { return }
        do {
            let fitted = try fitter.fit(try processor.convert(frame, to: pixelFormat), width: width, height: height)
            try state.withLock { state throws(CaptureError) in try show(fitted.buffer, &state) }
        } catch {
            close()
            onFailure(error)
        }
    }

    private func show(_ buffer: PixelBuffer, _ state: inout State) throws(CaptureError) {
        guard let queue = state.queue else { return }
        let next = state.last + 1
        let index: Int?
        do throws(IoctlFailure) {
            if !state.isLoopback {
                while !queue.isIdle, try queue.dequeue() != nil {}
                index = queue.freeIndex
            } else if next < queue.count {
                // Readers may have the last one. A reader that asks for fewer buffers takes the others from all.
                index = try queue.isInPlace(next) ? next : 0
            } else {
                index = 0
            }
        } catch {
            throw DeviceWriter.failure(to: "show a frame", path, error)
        }
        // Its buffers are full: it shows fewer frames.
        guard let index else {
            state.counts.dropped += 1
            return
        }
        state.last = index
        var target = queue.bytes(of: index).baseAddress!
        for (plane, shape) in buffer.planes.enumerated() {
            // Chroma lies behind luma, of I420 in rows of half the length.
            let stride = plane == 0 || pixelFormat == .nv12 ? state.stride : (state.stride + 1) / 2
            for row in 0..<shape.rows {
                buffer.withRow(row, ofPlane: plane) { target.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
                target += stride
            }
        }
        let shown: Int
        do throws(IoctlFailure) {
            try queue.queue(index, byteCount: state.byteCount)
            shown = state.isLoopback ? try queue.takeBack(index) : index
        } catch {
            throw DeviceWriter.failure(to: "show a frame", path, error)
        }
        // Buffers were taken away meanwhile: the old content of another one was shown. The first one is there always.
        if shown != index, index > 0 {
            state.last = queue.count
            return try show(buffer, &state)
        }
        state.counts.shown += 1
    }

    // MARK: The device

    /// Sets the format: that of the frames, or the nearest that the device has.
    private static func settle(
        _ node: DeviceNode, _ format: VideoFormat, _ path: String
    ) throws(CaptureError) -> (v4l2_format, PixelFormat) {
        for (pixelFormat, name) in [(PixelFormat.nv12, "NV12"), (.i420, "YU12")] {
            guard let code = FourCC(name)?.rawValue else { continue }
            var wanted = v4l2_format()
            wanted.type = V4L2_BUF_TYPE_VIDEO_OUTPUT.rawValue
            // All else is zero: some drivers keep what they find there.
            // Even, since the driver counts chroma of odd sizes otherwise.
            wanted.fmt.pix.width = UInt32(clamping: max(2, format.imageWidth & ~1))
            wanted.fmt.pix.height = UInt32(clamping: max(2, format.imageHeight & ~1))
            wanted.fmt.pix.pixelformat = code
            wanted.fmt.pix.field = V4L2_FIELD_NONE.rawValue
            wanted.fmt.pix.colorspace = V4L2_COLORSPACE_SRGB.rawValue
            do {
                try node.request(.setFormat, &wanted)
            } catch {
                guard error.isUnsupported else { throw failure(to: "set the format", path, error) }
                continue
            }
            if wanted.fmt.pix.pixelformat == code, wanted.fmt.pix.width > 0, wanted.fmt.pix.height > 0 {
                return (wanted, pixelFormat)
            }
        }
        throw CaptureError(
            .deviceBusy, operation: "set the format", subject: path,
            message:
                "It takes neither NV12 nor I420 now. Another program may show frames at it, or it keeps the format of one; "
                + "end that program, or load v4l2loopback again.")
    }

    private static func setRate(_ rate: FrameRate, of node: DeviceNode) {
        var parameters = v4l2_streamparm()
        parameters.type = V4L2_BUF_TYPE_VIDEO_OUTPUT.rawValue
        parameters.parm.output.timeperframe = v4l2_fract(
            numerator: UInt32(clamping: rate.seconds), denominator: UInt32(clamping: rate.frames))
        // A device with a fixed rate refuses.
        _ = try? node.request(.setParameters, &parameters)
    }

    private static let busyMessage = "Another program shows frames at it; end that, or name another device."

    private static func busy(_ path: String) -> CaptureError {
        CaptureError(.deviceBusy, operation: "open the device", subject: path, message: busyMessage)
    }

    private static func failure(to operation: String, _ path: String, _ failure: IoctlFailure) -> CaptureError {
        let (code, message): (CaptureErrorCode, String) =
            switch failure.number {
            case ENOENT: (.deviceNotFound, "There is no such device; load v4l2loopback, or check the path.")
            case EACCES, EPERM:
                (.permissionDenied, "You may not use it; add yourself to the group video, and log in again.")
            case EBUSY: (.deviceBusy, busyMessage)
            case ENOTTY where operation == "open the device", EINVAL where operation == "open the device", EISDIR:
                (.formatUnsupported, "This is not a device of V4L2; name one such as /dev/video20.")
            case ENODEV, ENXIO, EIO: (.deviceLost, "The device is gone; load its driver, then try again.")
            default: (.system, "The kernel has refused (\(failure.request)).")
            }
        return CaptureError(code, operation: operation, subject: path, errno: failure.number, message: message)
    }
}
