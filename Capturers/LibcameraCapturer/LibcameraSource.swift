import CLibcamera
import FrameProcessing
import VideoCapturing

/// A camera of libcamera as a frame source: opens it, streams, and recovers from faults. Runs on the capture thread.
final class LibcameraSource: FrameSource {
    /// Why the camera does not stream.
    enum Interruption: Hashable {
        case disconnected, busy, failing
    }

    var settings: CaptureSettings
    var pacing: FramePacing { .device }
    var contentHint: VideoContentHint { .motion }

    let configuration: LibcameraCapturer.Configuration
    let status: LibcameraStatus
    private let processor = FrameProcessor()
    private let pool = PixelBufferPool()

    // From open to close.
    var device: LibcameraDevice?
    var session: LibcameraSession?
    var format: StreamFormat?
    private var shape: DeliveryShape?
    private var wants = CaptureWants()

    // From start to stop.
    var isRunning = false
    var interruption: Interruption?
    var failures = 0
    var nextAttempt = MediaTime.zero
    var deadline = MediaTime.zero
    var hasDelivered = false
    private var clock = LibcameraClock()
    private var limiter = FrameRateLimiter()
    private var lastSequence: UInt32?
    private var taken: UInt64 = 0

    init(_ configuration: LibcameraCapturer.Configuration, status: LibcameraStatus) {
        self.configuration = configuration
        self.status = status
        // The requested format until the camera is known.
        settings = CaptureSettings(
            format: VideoFormat(
                .nv12, width: configuration.preset.width, height: configuration.preset.height,
                estimatedFramesPerSecond: configuration.desiredFrameRate), sourceName: configuration.device)
    }

    // MARK: Opening

    func open() throws {
        try VideoFormat.nv12(width: configuration.preset.width, height: configuration.preset.height).validate()
        let device = try LibcameraDevice.find(configuration.device, in: try LibcameraDevice.cameras())
        self.device = device
        status.contents.withLock { $0.device = device }
        do {
            try openSession(device)
        } catch {
            session = nil
            throw error
        }
    }

    /// Acquires the camera, and chooses the format.
    func openSession(_ device: LibcameraDevice) throws(CaptureError) {
        let session = try LibcameraSession(opening: device)
        // So that an invalid setting fails here.
        let controls = configuration.controls.isEmpty ? [] : try session.controls()
        let values = try LibcameraControl.resolve(configuration.controls, in: controls)
        let format = try choose(session)
        for setting in values { try session.set(setting.control, to: setting.value) }
        let shape = DeliveryShape(of: format.size, for: configuration.preset)
        self.session = session
        self.format = format
        self.shape = shape
        settings.format = VideoFormat(
            .nv12, width: shape.size.width, height: shape.size.height,
            estimatedFramesPerSecond: configuration.desiredFrameRate)
        settings.sourceName = device.name
        status.contents.withLock { $0.mode = "\(format)" }
    }

    /// Sets the first format and size that the camera takes and that is large enough; or the last that it has taken.
    private func choose(_ session: LibcameraSession) throws(CaptureError) -> StreamFormat {
        let offered = try session.formats()
        let wanted = configuration.preset
        var lastError: CaptureError?
        for candidate in OfferedFormat.ranked(offered) {
            var given: StreamFormat?
            for size in candidate.candidates(for: wanted) {
                do throws(CaptureError) {
                    let stream = try session.configure(candidate, size, buffers: configuration.bufferCount)
                    let format = try StreamFormat(stream)
                    given = format
                    if format.size.width >= wanted.width, format.size.height >= wanted.height { return format }
                } catch {
                    guard error.code == .formatUnsupported else { throw error }
                    lastError = error
                    given = nil
                }
            }
            if let given { return given }
        }
        if let lastError { throw lastError }
        let names = offered.map { "\($0.fourCC)" }.joined(separator: ", ")
        throw CaptureError(
            .formatUnsupported, operation: "choose a format", subject: device?.name,
            message: "The camera has no format that can be read here; it has \(names.isEmpty ? "none" : names).")
    }

    func start(_ context: FrameContext) throws {
        limiter = FrameRateLimiter()
        failures = 0
        interruption = nil
        if session == nil, let device { try openSession(device) }
        do throws(CaptureError) {
            try startStream(context)
        } catch {
            // Opened again at the next attempt.
            session = nil
            throw error
        }
    }

    func startStream(_ context: FrameContext) throws(CaptureError) {
        guard let session, let format else { return }
        try session.start(format, rate: configuration.desiredFrameRate)
        isRunning = true
        hasDelivered = false
        lastSequence = nil
        // The first frames of a sensor that was off take longer.
        deadline = context.now.advanced(by: .seconds(5))
    }

    func endStream() {
        guard isRunning else { return }
        isRunning = false
        session?.stop()
    }

    func stop() {
        endStream()
        interruption = nil
    }

    func close() {
        session = nil
        format = nil
    }

    func adapt(to wants: CaptureWants) { self.wants = wants }

    // MARK: Frames

    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        while !context.mustReturn {
            guard isRunning, let session else {
                try recover(context)
                continue
            }
            do throws(CaptureError) {
                try session.reclaim()
                if let captured = try session.take() {
                    if let frame = try frame(captured, session, context) { return frame }
                } else {
                    try wait(session, context)
                }
            } catch {
                try interrupt(after: error, context)
            }
        }
        return nil
    }

    /// Waits for a frame, a stop or the deadline. Looks for the camera's device after 250 ms without a frame.
    private func wait(_ session: LibcameraSession, _ context: FrameContext) throws(CaptureError) {
        // Consumers that keep all buffers stop the camera; they are asked again soon.
        let isStarved = session.queuedCount == 0
        let limit = isStarved ? Duration.milliseconds(5) : .milliseconds(250)
        guard context.waitForInput(session.descriptor, atMost: limit) == .timedOut else { return }
        if isStarved {
            deadline = context.now.advanced(by: .seconds(2))
            return
        }
        try session.checkPresence()
        guard context.now >= deadline else { return }
        throw CaptureError(
            .stalled, operation: "wait for a frame", subject: device?.name,
            message: "The camera is there but gives no frames; check its cable, and start again.")
    }

    /// Makes a frame from a filled buffer; nil when it is damaged or not due.
    private func frame(
        _ captured: lc_frame, _ session: LibcameraSession, _ context: FrameContext
    ) throws(CaptureError) -> SourceFrame? {
        let now = context.now
        let index = Int(captured.index)
        deadline = now.advanced(by: .seconds(2))
        let lost = lastSequence.map { UInt64(max(1, captured.sequence &- $0) - 1) } ?? 0
        lastSequence = captured.sequence
        // A jump of the counter back, or by hours, is no loss.
        if lost > 0, lost < 10_000 { context.countLosses(lost: lost) }
        taken &+= 1 &+ (lost < 10_000 ? lost : 0)
        guard captured.is_complete else {
            context.countLosses(corrupt: 1)
            try session.queue(index)
            return nil
        }
        let stated = clock.time(sensor: captured.sensor_time, buffer: captured.buffer_time, now: now)
        if stated == nil { status.count { $0.timestampsReplaced += 1 } }
        let time = stated ?? now
        guard limiter.shouldPass(time, sequenceNumber: taken, at: rateLimit) else {
            status.count { $0.framesDecimated += 1 }
            try session.queue(index)
            return nil
        }
        if !hasDelivered { didReturn() }
        var frame = try makeFrame(index, session)
        frame.timestamp = time
        frame.estimatedCaptureDelay = stated.map { now - $0 }
        return frame
    }

    private var rateLimit: FrameRate {
        wants.maximumFrameRate.map { min($0, configuration.desiredFrameRate) } ?? configuration.desiredFrameRate
    }

    private func makeFrame(_ index: Int, _ session: LibcameraSession) throws(CaptureError) -> SourceFrame {
        let buffer = session.buffers[index]
        let pixels = buffer.pixels
        let whole = shape?.size ?? PixelSize(width: pixels.width, height: pixels.height)
        let size = wants.adaptedSize(width: whole.width, height: whole.height)
        buffer.beginRead()
        let isWhole = shape?.crop == nil && size == (pixels.width, pixels.height)
        let isTaken = pixels.pixelFormat == .nv12 || wants.acceptsNativeFormat && !pixels.pixelFormat.isRGB
        if isWhole, isTaken, session.queuedCount >= 2 {
            buffer.holder = .frame
            status.count { $0.framesLent += 1 }
            var frame = SourceFrame(pixels)
            frame.color = format?.color ?? .bt601
            return frame
        }
        let made: (buffer: PixelBuffer, color: ColorDescription)
        do throws(CaptureError) {
            if isWhole, isTaken {
                made = (try pool.makeCopy(of: pixels), format?.color ?? .bt601)
                status.count { $0.framesCopied += 1 }
            } else {
                let transform = FrameTransform(
                    crop: shape?.crop, size: PixelSize(width: size.width, height: size.height), pixelFormat: .nv12)
                made = try processor.apply(transform, to: pixels, color: format?.color)
                status.count { $0.framesConverted += 1 }
            }
        } catch {
            buffer.endRead()
            throw error
        }
        buffer.endRead()
        try session.queue(index)
        var frame = SourceFrame(made.buffer)
        frame.color = made.color
        return frame
    }
}
