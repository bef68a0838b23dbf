import FrameProcessing
import PipeWireSupport
import VideoCapturing

/// A PipeWire node as a frame source: holds the stream, and finds node and server again.
///
/// Confined to the capture thread.
final class PipeWireSource: FrameSource {
    private(set) var settings: CaptureSettings
    var pacing: FramePacing { .device }
    var contentHint: VideoContentHint { screen == nil ? .none : .text }

    private let configuration: PipeWireCapturer.Configuration
    private let counts: Locked<PipeWireCapturer.Statistics>
    private let events: Locked<(@Sendable (PipeWireCapturer.Event) -> Void)?>
    private let maker: NodeFrameMaker
    /// Gives the node, where that is a screen; nil for a node that the server shows to all.
    private let screen: ScreenCast?
    private var connection: PipeWireConnection?
    private var stream: NodeStream?
    /// The node of the stream. Its name finds it again.
    private var node: PipeWireNode?
    /// While the node or the server is missing.
    private var recovery: Recovery?
    private var isStalled = false
    /// A shorter one counts from the last frame on.
    private var frameInterval: Duration {
        didSet { if frameInterval < oldValue { nextDue -= oldValue - frameInterval } }
    }
    private var nextDue = MediaTime.zero
    /// Shown again where a consumer needs a whole frame.
    private var last: SourceFrame?
    /// Whether it lies in a buffer of the node, which can be lent again without it; and the size of the node's pictures then.
    private var isLastLent = false
    private var lastSize: PixelSize?
    private var isRefreshDue = false

    private struct Recovery {
        var backoff = BackoffPolicy(initialDelay: .milliseconds(100), maximumDelay: .seconds(5))
        /// By the machine's clock: when the server is tried next.
        var due: MediaTime
    }

    /// How long a node may take to agree on a format.
    private static let openTimeout = Duration.seconds(5)
    /// How long a stream may be paused before that is an interruption.
    private static let pauseTimeout = Duration.seconds(1)

    init(
        _ configuration: PipeWireCapturer.Configuration, counts: Locked<PipeWireCapturer.Statistics>,
        events: Locked<(@Sendable (PipeWireCapturer.Event) -> Void)?>, screen: ScreenCast? = nil
    ) {
        self.configuration = configuration
        self.screen = screen
        self.counts = counts
        self.events = events
        maker = NodeFrameMaker(configuration.pixelFormat)
        frameInterval = configuration.frameRate.frameInterval
        // Preliminary, until the node is known.
        settings = CaptureSettings(
            format: VideoFormat(
                configuration.pixelFormat, width: configuration.size.width, height: configuration.size.height,
                estimatedFramesPerSecond: configuration.frameRate), sourceName: configuration.node)
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
        rest()
    }

    func start(_ context: FrameContext) {
        maker.invalidate()
        isRefreshDue = true
        nextDue = .zero
        isStalled = false
        // What happened meanwhile.
        connection?.run()
        if lastSize != stream?.format?.size { last = nil }
        stream?.activate()
        connection?.run()
    }

    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        while !context.mustReturn {
            guard let connection, let stream else {
                try recover(context)
                continue
            }
            stream.reclaim()
            if let frame = try due(stream, context) { return frame }
            try check(stream, context)
            guard self.stream != nil else { continue }
            connection.wait(
                until: deadline(stream), interruptedBy: context.returnDescriptor, or: screen?.descriptor ?? -1)
        }
        return nil
    }

    func stop() { rest() }

    func close() {
        last = nil
        stream = nil
        connection = nil
        screen?.close()
        recovery = nil
    }

    func adapt(to wants: CaptureWants) {
        if wants.maximumPixelCount != maker.wants.maximumPixelCount { isRefreshDue = true }
        maker.wants = wants
        frameInterval = min(configuration.frameRate, wants.maximumFrameRate ?? configuration.frameRate).frameInterval
    }

    func refresh() {
        maker.invalidate()
        isRefreshDue = true
    }

    // MARK: Frames

    /// The frame that is due now; nil when none is.
    private func due(_ stream: NodeStream, _ context: FrameContext) throws(CaptureError) -> SourceFrame? {
        let now = MonotonicClock().now
        // Half of an interval, since the times of a node are not exact.
        stream.isRateLimited = now < nextDue
        guard stream.newest != nil, now >= nextDue || isRefreshDue, let format = stream.format else {
            return try repeated(context)
        }
        guard let (arrival, lost, corrupt) = stream.take() else { return nil }
        if isLastLent {
            last = nil
            stream.reclaim()
        }
        let wasLent = arrival.buffer.isLendable
        guard var frame = try maker.frame(arrival, format, stream) else {
            context.countLosses(lost: lost, corrupt: corrupt + 1)
            return nil
        }
        // A frame that was asked for comes before it is due.
        let isOnTime = now >= nextDue && now - nextDue <= frameInterval
        nextDue = (isOnTime ? nextDue : now).advanced(by: frameInterval)
        frame.lostBefore = lost
        frame.corruptBefore = corrupt
        frame.estimatedCaptureDelay = now - arrival.timestamp
        if context.now < arrival.timestamp { frame.timestamp = context.now }
        let isLent = wasLent && arrival.buffer.isLent
        counts.withLock { counts in
            if isLent { counts.framesLent &+= 1 } else { counts.framesConverted &+= 1 }
        }
        if isStalled {
            isStalled = false
            report(.returned)
        }
        isRefreshDue = false
        last = isLent && screen == nil ? nil : frame
        isLastLent = isLent
        lastSize = format.size
        return try fit(frame, format)
    }

    /// The last frame again, where a consumer needs one and the node has nothing new.
    private func repeated(_ context: FrameContext) throws(CaptureError) -> SourceFrame? {
        guard isRefreshDue, var frame = last, let format = stream?.format else { return nil }
        isRefreshDue = false
        frame.timestamp = context.now
        frame.damage = nil
        (frame.lostBefore, frame.corruptBefore) = (0, 0)
        return try fit(frame, format)
    }

    /// The frame in the size that consumers want, which the settings state from now on.
    private func fit(_ frame: SourceFrame, _ format: PipeWireFormat) throws(CaptureError) -> SourceFrame {
        let fitted = try maker.fit(frame)
        settings.format = VideoFormat(
            fitted.buffer.pixelFormat, width: fitted.buffer.width, height: fitted.buffer.height,
            estimatedFramesPerSecond: rate(format))
        return fitted
    }

    private func rate(_ format: PipeWireFormat) -> FrameRate {
        let limit = min(configuration.frameRate, maker.wants.maximumFrameRate ?? configuration.frameRate)
        return min(format.frameRate ?? limit, limit)
    }

    /// Until when nothing has to be done but to handle events.
    private func deadline(_ stream: NodeStream) -> MediaTime? {
        if stream.newest != nil { return nextDue }
        if let since = stream.pausedSince, !isStalled { return since + PipeWireSource.pauseTimeout }
        return nil
    }

    // MARK: The stream

    private func connect(interruptedBy interrupt: Int32) throws(CaptureError) {
        let operation = "open a PipeWire node"
        let cast = try screen?.open(interruptedBy: interrupt) { report($0) }
        let limit = MonotonicClock().now + PipeWireSource.openTimeout
        let named = configuration.server.map { PipeWireConnection.Address.named($0) } ?? .session
        let address = cast.map { PipeWireConnection.Address.descriptor($0.descriptor) } ?? named
        let connection = try PipeWireConnection(address, for: operation)
        try connection.synchronize(until: limit, interruptedBy: interrupt, for: operation)
        self.connection = connection
        guard let found = cast.map({ connection.nodes[$0.node] }) ?? find(connection) else {
            throw notFound(connection)
        }
        try join(found, connection, until: limit, interruptedBy: interrupt)
    }

    /// The node that was asked for; one that was captured before, by its name.
    private func find(_ connection: PipeWireConnection) -> PipeWireNode? {
        guard let node, !node.name.isEmpty else { return connection.nodes.values.videoSource(configuration.node) }
        return connection.nodes.values.videoSources.first { $0.name == node.name }
    }

    /// Begins a stream, and waits until it has a format.
    private func join(
        _ found: PipeWireNode, _ connection: PipeWireConnection, until limit: MediaTime, interruptedBy interrupt: Int32
    ) throws(CaptureError) {
        let stream = try NodeStream(
            connection, node: screen == nil ? found : nil, id: found.id, size: configuration.size,
            rate: configuration.frameRate)
        while stream.format == nil {
            if let reason = stream.failure { throw failure(found, reason) }
            if stream.hasUnknownFormat { throw failure(found, "the format is not one that can be read") }
            connection.wait(until: limit, interruptedBy: interrupt)
            if isReadable(interrupt) { throw PipeWireSource.stopped }
            try connection.checkServer("open a PipeWire node")
            guard MonotonicClock().now < limit else { throw notLinked(found) }
        }
        node = found
        self.stream = stream
        let size = stream.format!.size
        settings.sourceName = screen?.title ?? found.title
        settings.format = VideoFormat(
            configuration.pixelFormat, width: size.width, height: size.height,
            estimatedFramesPerSecond: rate(stream.format!))
    }

    private func isReadable(_ descriptor: Int32) -> Bool {
        pollInput(descriptor, interruptedBy: -1, until: .zero).contains(.ready)
    }

    /// Lets the node rest until frames are wanted.
    private func rest() {
        // A screen shows its picture still, and many desktops send one again only when it changes.
        if screen == nil { last = nil }
        stream?.reclaim()
        stream?.rest(keepsNewest: screen != nil)
        connection?.run()
    }

    /// Looks for the end of the node and of the server, and for a pause.
    private func check(_ stream: NodeStream, _ context: FrameContext) throws(CaptureError) {
        guard let connection, let node else { return }
        let isServerLost = connection.loss != nil
        let isPortalLost = try screen?.isLost() ?? false
        if isServerLost || isPortalLost || stream.failure != nil || connection.nodes[node.id] == nil {
            let title = isPortalLost ? "The desktop portal" : screen?.title ?? node.title
            let reason = isServerLost ? "The PipeWire server has gone" : "\(title) has gone"
            last = nil
            self.stream = nil
            if isServerLost || screen != nil { self.connection = nil }
            screen?.close()
            guard configuration.reconnects else {
                throw CaptureError(
                    .deviceLost, operation: "capture a PipeWire node", subject: settings.sourceName,
                    message: "\(reason); the frames before are complete.")
            }
            context.reportInterruption(.deviceDisconnected)
            report(isServerLost ? .serverLost : .nodeLost(title))
            recovery = Recovery(due: MonotonicClock().now)
        } else if let since = stream.pausedSince, !isStalled,
            MonotonicClock().now >= since + PipeWireSource.pauseTimeout
        {
            isStalled = true
            context.reportInterruption(.stalled)
        }
    }

    /// Waits for the server and the node, and begins again.
    private func recover(_ context: FrameContext) throws(CaptureError) {
        var state = recovery ?? Recovery(due: MonotonicClock().now)
        let now = MonotonicClock().now
        if now < state.due {
            // A new node ends the wait early.
            if let connection {
                connection.wait(until: state.due, interruptedBy: context.returnDescriptor)
            } else {
                _ = pollInput(-1, interruptedBy: context.returnDescriptor, until: state.due)
            }
            recovery = state
            guard let connection, find(connection) != nil || connection.loss != nil else { return }
        }
        do throws(CaptureError) {
            if let connection, connection.loss == nil {
                guard let found = find(connection) else { throw notFound(connection) }
                try join(
                    found, connection, until: now + PipeWireSource.openTimeout,
                    interruptedBy: context.returnDescriptor)
            } else {
                connection = nil
                // New wants must not close a dialog that the user is looking at.
                try connect(
                    interruptedBy: screen == nil ? context.returnDescriptor : context.stopDescriptor)
            }
        } catch {
            guard [.unavailable, .deviceNotFound, .system, .formatUnsupported, .invalidState].contains(error.code)
            else {
                throw error
            }
            stream = nil
            if screen != nil { connection = nil }
            screen?.close()
            let delay = state.backoff.nextDelay(at: now) ?? .seconds(5)
            state.due = MonotonicClock().now + delay
            recovery = state
            return
        }
        recovery = nil
        maker.invalidate()
        counts.withLock { $0.reconnects &+= 1 }
        report(.returned)
    }

    private func report(_ event: PipeWireCapturer.Event) {
        let handler = events.withLock { $0 }
        handler?(event)
    }
}
