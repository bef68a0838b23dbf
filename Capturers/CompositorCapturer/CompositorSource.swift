import FrameProcessing
import VideoCapturing

/// A monitor as a frame source: holds the connection, and finds compositor and monitor again.
///
/// Confined to the capture thread.
final class CompositorSource: FrameSource {
    private(set) var settings: CaptureSettings
    var pacing: FramePacing { .device }
    var contentHint: VideoContentHint { .text }

    private let configuration: CompositorCapturer.Configuration
    private let events: Locked<(@Sendable (CompositorCapturer.Event) -> Void)?>
    private let maker: ScreenFrameMaker
    private var compositor: Compositor?
    private var copy: ScreenCopy?
    /// The name of the monitor, which finds it again.
    private var monitor: String?
    /// Shown again where a consumer needs a whole frame.
    private var last: SourceFrame?
    private var isRefreshDue = false
    private var frameInterval: Duration {
        didSet { if frameInterval < oldValue { nextDue -= oldValue - frameInterval } }
    }
    private var nextDue = MediaTime.zero
    /// Whether the next picture is copied at once, changed or not.
    private var isCopyDue = true
    /// Since when no picture could be copied, when that was tried last, and whether it was reported.
    private var lastFailure: (since: MediaTime, at: MediaTime)?
    private var isStalled = false
    private var lastSize: PixelSize?

    /// How long the compositor may take to answer, and to copy the first picture.
    private static let openTimeout = Duration.seconds(5)
    private static let reconnectInterval = Duration.milliseconds(500)
    /// How soon a copy that failed is tried again, and after how long that is an interruption.
    private static let retryInterval = Duration.milliseconds(100)
    private static let stallTimeout = Duration.seconds(1)

    init(
        _ configuration: CompositorCapturer.Configuration,
        events: Locked<(@Sendable (CompositorCapturer.Event) -> Void)?>
    ) {
        self.configuration = configuration
        self.events = events
        maker = ScreenFrameMaker(configuration.pixelFormat)
        monitor = configuration.monitor
        frameInterval = configuration.frameRate.frameInterval
        // Preliminary, until the monitor is known.
        settings = CaptureSettings(
            format: VideoFormat(
                configuration.pixelFormat, width: configuration.region?.width ?? 0,
                height: configuration.region?.height ?? 0, estimatedFramesPerSecond: configuration.frameRate),
            sourceName: configuration.monitor)
    }

    // MARK: FrameSource

    func open(_ context: FrameContext) throws {
        try configuration.validate()
        // Created now, so that a later wait cannot fail for lack of descriptors.
        _ = context.returnDescriptor
        do throws(CaptureError) {
            try connect(interruptedBy: context.stopDescriptor)
        } catch {
            close()
            throw error
        }
    }

    func start(_ context: FrameContext) {
        // The picture of the opening and that of an earlier session may be long out of date.
        copy?.cancel()
        last = nil
        isRefreshDue = true
        isCopyDue = true
        nextDue = .zero
        lastFailure = nil
        isStalled = false
    }

    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        while !context.mustReturn {
            guard let compositor, let copy else {
                try recover(context)
                continue
            }
            compositor.run()
            try check(compositor, copy, context)
            guard self.copy != nil else { continue }
            if let frame = try copied(copy, context) ?? repeated(context) { return frame }
            if MonotonicClock().now >= nextDue {
                copy.ask(whenChanged: !isCopyDue)
                isCopyDue = false
            }
            _ = pollInput(
                compositor.descriptor, interruptedBy: context.returnDescriptor, until: copy.isWaiting ? nil : nextDue)
        }
        return nil
    }

    func stop() {
        // What it copies meanwhile is old by the next start.
        copy?.cancel()
        compositor?.run()
    }

    func close() {
        last = nil
        copy = nil
        compositor = nil
        lastFailure = nil
        isStalled = false
    }

    func adapt(to wants: CaptureWants) {
        if wants.maximumPixelCount != maker.wants.maximumPixelCount { isRefreshDue = true }
        maker.wants = wants
        frameInterval = min(configuration.frameRate, wants.maximumFrameRate ?? configuration.frameRate).frameInterval
    }

    func refresh() { isRefreshDue = true }

    // MARK: Frames

    /// The frame of a picture that was copied.
    private func copied(_ copy: ScreenCopy, _ context: FrameContext) throws(CaptureError) -> SourceFrame? {
        guard let picture = copy.take() else { return nil }
        let now = MonotonicClock().now
        let isOnTime = now >= nextDue && now - nextDue <= frameInterval
        nextDue = (isOnTime ? nextDue : now).advanced(by: frameInterval)
        lastFailure = nil
        if isStalled {
            (isStalled, isRefreshDue) = (false, true)
            report(.returned)
        }
        // Compositors do not agree on where the damage of a region begins: wlroots counts from the monitor's edge.
        let isWhole = isRefreshDue || configuration.region != nil || lastSize != picture.size
        let damage = isWhole ? nil : picture.damage.parts(of: picture.size)
        // Some compositors copy an unchanged screen again.
        if let damage, damage.isEmpty { return nil }
        var frame = try maker.frame(
            picture.memory, picture.pixelFormat, color: .assumed(for: picture.pixelFormat), size: picture.size,
            damage: damage)
        frame.timestamp = min(picture.timestamp, context.now)
        frame.damage = damage
        frame.orientation = orientation
        lastSize = picture.size
        isRefreshDue = false
        last = frame
        return try fit(frame)
    }

    private var orientation: VideoOrientation { compositor?.output(named: monitor)?.orientation ?? .up }

    /// The last frame again, where a consumer needs one and the screen has not changed.
    private func repeated(_ context: FrameContext) throws(CaptureError) -> SourceFrame? {
        guard isRefreshDue, var frame = last, !isStalled else { return nil }
        isRefreshDue = false
        frame.timestamp = context.now
        frame.damage = nil
        return try fit(frame)
    }

    /// The frame in the size that consumers want, which the settings state from now on.
    private func fit(_ frame: SourceFrame) throws(CaptureError) -> SourceFrame {
        let fitted = try maker.fit(frame)
        settings.format = VideoFormat(
            configuration.pixelFormat, width: fitted.buffer.width, height: fitted.buffer.height,
            estimatedFramesPerSecond: min(
                configuration.frameRate, maker.wants.maximumFrameRate ?? configuration.frameRate))
        return fitted
    }

    // MARK: The connection

    /// Connects, and waits for the first picture, which has the size and the format.
    private func connect(interruptedBy interrupt: Int32) throws(CaptureError) {
        let operation = "open the screen"
        let limit = MonotonicClock().now + CompositorSource.openTimeout
        let compositor = try Compositor(configuration.display, until: limit, interruptedBy: interrupt)
        self.compositor = compositor
        guard let output = compositor.output(named: monitor) else {
            let names = compositor.outputs.values.map { printable($0.name, limit: 60) }.sorted()
            throw CaptureError(
                .deviceNotFound, operation: operation, subject: monitor ?? "wayland",
                message: names.isEmpty
                    ? "The compositor has no monitor."
                    : "There is no such monitor. There are \(names.joined(separator: ", ")).")
        }
        guard output.size.width > 0, output.size.height > 0 else {
            throw CaptureError(
                .unavailable, operation: operation, subject: output.name, message: "The monitor is off; turn it on.")
        }
        if let region = configuration.region, !output.holds(region) {
            throw CaptureError(
                .invalidConfiguration, operation: operation, subject: region.text,
                message:
                    "The region does not lie in the monitor \(output.name), which is \(output.size.width)x\(output.size.height)."
            )
        }
        let copy = ScreenCopy(
            compositor, output, region: configuration.region, showsPointer: configuration.showsPointer)
        copy.ask(whenChanged: false)
        while copy.isWaiting {
            let found = pollInput(compositor.descriptor, interruptedBy: interrupt, until: limit)
            guard !found.contains(.interrupted) else {
                throw CaptureError(
                    .invalidState, operation: operation, subject: output.name,
                    message: "The capture was stopped while it waited for the compositor.")
            }
            guard !compositor.isLost, MonotonicClock().now < limit else {
                throw CaptureError(
                    .unavailable, operation: operation, subject: output.name,
                    message: "The compositor copies no picture; check whether the monitor is on.")
            }
            compositor.run()
        }
        guard let size = copy.size else {
            throw CaptureError(
                copy.problem == nil ? .unavailable : .formatUnsupported, operation: operation, subject: output.name,
                message: copy.problem.map { "Its pixels cannot be read (\($0)); capture it by the desktop portal." }
                    ?? "The compositor copies no picture. Check that the monitor is on, and that the region lies in it."
            )
        }
        self.copy = copy
        monitor = output.name
        settings.sourceName = output.name
        settings.format = VideoFormat(
            configuration.pixelFormat, width: size.width, height: size.height,
            estimatedFramesPerSecond: configuration.frameRate)
        (isRefreshDue, isCopyDue) = (true, true)
        lastSize = nil
    }

    /// Looks for the end of the monitor and of the compositor, and for pictures that cannot be copied.
    private func check(_ compositor: Compositor, _ copy: ScreenCopy, _ context: FrameContext) throws(CaptureError) {
        let isMonitorLost = !compositor.isLost && !copy.hasOutput
        if compositor.isLost || isMonitorLost {
            close()
            let reason = isMonitorLost ? "The monitor has gone" : "The compositor has gone"
            guard configuration.reconnects else {
                throw CaptureError(
                    .deviceLost, operation: "capture the screen", subject: settings.sourceName,
                    message: "\(reason); the frames before are complete.")
            }
            context.reportInterruption(.deviceDisconnected)
            report(isMonitorLost ? .monitorLost(monitor ?? "") : .compositorLost)
        } else if copy.takeFailure() {
            let now = MonotonicClock().now
            // Failures far apart, as of changes of the mode, are no stall.
            let isSame = lastFailure.map { now < $0.at + CompositorSource.stallTimeout } ?? false
            let since = isSame ? lastFailure!.since : now
            lastFailure = (since, now)
            nextDue = now + CompositorSource.retryInterval
            if now >= since + CompositorSource.stallTimeout, !isStalled {
                isStalled = true
                context.reportInterruption(.stalled)
            }
        }
    }

    /// Waits for the compositor and the monitor, and begins again.
    private func recover(_ context: FrameContext) throws(CaptureError) {
        guard
            context.wait(until: context.now.advanced(by: CompositorSource.reconnectInterval), endsForWants: true)
        else { return }
        do throws(CaptureError) {
            try connect(interruptedBy: context.returnDescriptor)
        } catch {
            close()
            // A session that is being set up is not complete yet.
            let passing: [CaptureErrorCode] = [
                .unavailable, .deviceNotFound, .invalidState, .invalidConfiguration, .formatUnsupported,
            ]
            guard passing.contains(error.code) else { throw error }
            return
        }
        report(.returned)
    }

    private func report(_ event: CompositorCapturer.Event) {
        let handler = events.withLock { $0 }
        handler?(event)
    }
}
