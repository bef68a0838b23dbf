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
    private var startTime = MediaTime.zero
    /// Since when no picture could be copied, and whether that was reported.
    private var failingSince: MediaTime?
    private var isStalled = false

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
        isRefreshDue = true
        nextDue = .zero
        startTime = context.now
        failingSince = nil
        isStalled = false
    }

    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        while !context.mustReturn {
            guard let compositor, let copy else {
                try recover(context)
                continue
            }
            compositor.run()
            if let frame = try copied(copy, context) ?? repeated(context) { return frame }
            try check(compositor, copy, context)
            guard self.copy != nil else { continue }
            if context.now >= nextDue { copy.ask() }
            _ = pollInput(
                compositor.descriptor, interruptedBy: context.returnDescriptor, until: copy.isWaiting ? nil : nextDue)
        }
        return nil
    }

    func close() {
        last = nil
        copy = nil
        compositor = nil
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
        let isWhole = isRefreshDue || last == nil || lastSize != picture.size
        let damage = isWhole ? nil : picture.damage.parts(of: picture.size)
        // Some compositors copy an unchanged screen again.
        if let damage, damage.isEmpty { return nil }
        var frame = try maker.frame(
            picture.memory, picture.pixelFormat, color: .assumed(for: picture.pixelFormat), size: picture.size,
            damage: damage)
        let now = context.now
        frame.timestamp = min(max(picture.timestamp, startTime), now)
        frame.damage = damage
        frame.orientation = orientation
        let isOnTime = now >= nextDue && now - nextDue <= frameInterval
        nextDue = (isOnTime ? nextDue : now).advanced(by: frameInterval)
        lastSize = picture.size
        failingSince = nil
        if isStalled {
            isStalled = false
            report(.returned)
        }
        isRefreshDue = false
        frame = try maker.fit(frame)
        last = frame
        settings.format = format(frame)
        return frame
    }

    private var lastSize: PixelSize?

    private var orientation: VideoOrientation { compositor?.output(named: monitor)?.orientation ?? .up }

    /// The last frame again, where a consumer needs one and the screen has not changed.
    private func repeated(_ context: FrameContext) -> SourceFrame? {
        guard isRefreshDue, var frame = last, !isStalled else { return nil }
        isRefreshDue = false
        frame.timestamp = context.now
        frame.damage = nil
        return frame
    }

    private func format(_ frame: SourceFrame) -> VideoFormat {
        VideoFormat(
            configuration.pixelFormat, width: frame.buffer.width, height: frame.buffer.height,
            estimatedFramesPerSecond: min(
                configuration.frameRate, maker.wants.maximumFrameRate ?? configuration.frameRate))
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
        if let region = configuration.region, !output.holds(region) {
            throw CaptureError(
                .invalidConfiguration, operation: operation,
                subject: "\(region.x),\(region.y),\(region.width)x\(region.height)",
                message:
                    "The region does not lie in the monitor \(output.name), which is \(output.size.width)x\(output.size.height)."
            )
        }
        let copy = ScreenCopy(
            compositor, output, region: configuration.region, showsPointer: configuration.showsPointer)
        copy.ask()
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
        isRefreshDue = true
        lastSize = nil
    }

    /// Looks for the end of the monitor and of the compositor, and for pictures that cannot be copied.
    private func check(_ compositor: Compositor, _ copy: ScreenCopy, _ context: FrameContext) throws(CaptureError) {
        let isMonitorLost = compositor.output(named: monitor) == nil
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
            let since = failingSince ?? context.now
            failingSince = since
            nextDue = context.now + CompositorSource.retryInterval
            if context.now >= since + CompositorSource.stallTimeout, !isStalled {
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
            guard [.unavailable, .deviceNotFound, .invalidState].contains(error.code) else { throw error }
            return
        }
        report(.returned)
    }

    private func report(_ event: CompositorCapturer.Event) {
        let handler = events.withLock { $0 }
        handler?(event)
    }
}
