import FrameProcessing
import VideoCapturing
import XDisplay

/// A screen as a frame source: holds the session, and reconnects to the X server.
///
/// Confined to the capture thread.
final class ScreenSource: FrameSource {
    private(set) var settings: CaptureSettings
    var pacing: FramePacing { .device }
    var contentHint: VideoContentHint { .text }

    private static let reconnectInterval = Duration.milliseconds(500)

    private let configuration: ScreenCapturer.Configuration
    private let counts: Locked<ScreenCapturer.Statistics>
    private let events: Locked<ScreenCapturer.EventHandler?>
    private var session: ScreenSession?
    private let maker: ScreenFrameMaker

    init(
        _ configuration: ScreenCapturer.Configuration, counts: Locked<ScreenCapturer.Statistics>,
        events: Locked<ScreenCapturer.EventHandler?>
    ) {
        self.configuration = configuration
        self.counts = counts
        self.events = events
        maker = ScreenFrameMaker(configuration.pixelFormat)
        // Preliminary, until the screen is known.
        let size = configuration.region.map { ($0.width, $0.height) } ?? (0, 0)
        settings = CaptureSettings(
            format: VideoFormat(
                configuration.pixelFormat, width: size.0, height: size.1,
                estimatedFramesPerSecond: configuration.frameRate), sourceName: configuration.display)
    }

    func open(_ context: FrameContext) throws {
        try configuration.validate()
        if configuration.target == .clickedWindow { report(.waitingForClick) }
        do {
            try connect(context)
        } catch is XFailure {
            throw CaptureError(
                .deviceLost, operation: "open the screen", subject: configuration.display,
                message: "The X server has not answered; check whether it still runs.")
        }
    }

    func start(_ context: FrameContext) { session?.repaint() }

    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        while !context.mustReturn {
            guard let session else {
                try reconnect(context)
                continue
            }
            do {
                guard let frame = try session.nextFrame(context) else { return nil }
                settings.format = format(of: session)
                return try maker.fit(frame)
            } catch let failure as XFailure {
                if case .stopping = failure { return nil }
                try lose(context)
            }
        }
        return nil
    }

    func close() { session = nil }

    func adapt(to wants: CaptureWants) {
        if wants.maximumPixelCount != maker.wants.maximumPixelCount { session?.repaint() }
        maker.wants = wants
        adaptRate()
    }

    func refresh() { session?.repaint() }

    // MARK: The session

    private func connect(_ context: FrameContext) throws {
        // Created now, so that a later wait cannot fail for lack of descriptors.
        _ = context.returnDescriptor
        let session = try ScreenSession(configuration, counts: counts, stopDescriptor: context.stopDescriptor)
        self.session = session
        settings.format = format(of: session)
        settings.sourceName = session.subject.name
        adaptRate()
    }

    private func format(of session: ScreenSession) -> VideoFormat {
        let size = maker.wants.adaptedSize(width: session.format.imageWidth, height: session.format.imageHeight)
        var format = session.format.resized(width: size.width, height: size.height)
        format.estimatedFramesPerSecond = min(
            configuration.frameRate, maker.wants.maximumFrameRate ?? configuration.frameRate)
        return format
    }

    private func adaptRate() {
        let rate = min(configuration.frameRate, maker.wants.maximumFrameRate ?? configuration.frameRate)
        session?.frameInterval = rate.frameInterval
    }

    private func lose(_ context: FrameContext) throws {
        session = nil
        guard configuration.reconnects else { throw serverLost() }
        context.reportInterruption(.deviceDisconnected)
        report(.serverLost)
    }

    private func report(_ event: ScreenCapturer.Event) {
        let handler = events.withLock { $0 }
        handler?(event)
    }

    private func reconnect(_ context: FrameContext) throws {
        guard context.wait(until: context.now.advanced(by: ScreenSource.reconnectInterval), endsForWants: true) else {
            return
        }
        // Identifiers of windows belong to the previous server.
        switch configuration.target {
        case .window, .clickedWindow: throw serverLost()
        case .desktop, .monitor, .windowTitled: break
        }
        do {
            try connect(context)
        } catch let error as CaptureError {
            switch error.code {
            // A desktop session that is being set up is not complete yet.
            case .deviceNotFound, .permissionDenied, .unavailable, .invalidConfiguration: return
            default: throw error
            }
        } catch is XFailure {
            return
        }
        counts.withLock { $0.reconnects += 1 }
        report(.serverReturned)
    }

    private func serverLost() -> CaptureError {
        CaptureError(
            .deviceLost, operation: "capture the screen", subject: settings.sourceName,
            message: "The X server has gone; what came before is complete.")
    }
}
