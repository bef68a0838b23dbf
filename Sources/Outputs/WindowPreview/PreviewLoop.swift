import FrameProcessing
import VideoCapturing

/// The work of a window, on its thread: takes frames and events, and draws.
package final class PreviewLoop {
    /// How long a new size must have lasted before it is reported as a want: captures may have to reopen for it.
    private static let settlingTime = Duration.milliseconds(300)

    /// Whether the user has closed the window.
    package private(set) var isClosed = false

    private let configuration: WindowPreview.Configuration
    private let state: PreviewState
    private let window: any PreviewWindow
    private let processor = FrameProcessor(capacity: 2)
    /// The frame on the screen.
    private var shown: VideoFrame?
    /// Where its pixels are; nil before the first.
    private var place: PixelRect?
    private var isPaused = false
    private var needsRedraw = false
    private var needsRefresh = false
    /// Whether a frame since the one that is shown could not be drawn, so that damage says nothing.
    private var hasMissed = false
    private var showsStatistics: Bool
    private var overlay = StatisticsOverlay()
    /// Whether the window has its first size.
    private var hasSize: Bool
    private var lastWants: CaptureWants?
    private var wantsDue: MediaTime?

    /// Shows the window, if its size is known without a frame.
    package init(
        _ configuration: WindowPreview.Configuration, _ state: PreviewState, _ window: any PreviewWindow
    ) throws {
        self.configuration = configuration
        self.state = state
        self.window = window
        showsStatistics = configuration.showsStatistics
        hasSize = configuration.size != nil
        if let size = configuration.size {
            try window.map(size: size, isFullScreen: configuration.isFullScreen)
            recordWindow()
        }
    }

    // MARK: The thread

    /// Does the due work.
    ///
    /// - Returns: whether anything was shown.
    package func turn(_ now: MediaTime) throws -> Bool {
        let hasShown = try present(now)
        updateWants(now)
        return hasShown
    }

    /// Nil when there is nothing to be done without a frame or an event.
    package func timeToNextTurn(_ now: MediaTime) -> Duration? {
        var next = wantsDue
        // An event reports when a busy window can be drawn.
        if showsStatistics, isVisible, !window.isBusy { next = min(next ?? overlay.nextUpdate, overlay.nextUpdate) }
        return next.map { max(.zero, $0 - now) }
    }

    /// Obeys an event of the window.
    package func handle(_ event: PreviewWindowEvent) throws {
        switch event {
        case .key(let key): try handle(key)
        case .resized:
            needsRedraw = true
            wantsDue = MonotonicClock().now.advanced(by: PreviewLoop.settlingTime)
            recordWindow()
        case .exposed: needsRefresh = true
        case .discarded: needsRedraw = true
        case .visibility: wantsDue = wantsDue ?? MonotonicClock().now
        case .fullScreen: state.report(.fullScreen(window.isFullScreen))
        case .closed: isClosed = true
        }
    }

    private func handle(_ key: PreviewKey) throws {
        switch key {
        case .pause:
            isPaused.toggle()
            wantsDue = MonotonicClock().now
            state.report(.paused(isPaused))
        case .still:
            if let shown { state.report(.still(shown)) }
        case .statistics:
            showsStatistics.toggle()
            overlay = StatisticsOverlay()
            needsRedraw = true
            state.report(.statistics(showsStatistics))
        case .fullScreen, .leaveFullScreen:
            let isWanted = key == .fullScreen && !window.isFullScreen
            if try window.setFullScreen(isWanted) { state.report(.fullScreen(isWanted)) }
        case .quit: state.report(.quit)
        }
    }

    private func recordWindow() {
        state.count { $0.windowSize = window.size }
    }

    // MARK: Drawing

    private var isVisible: Bool { window.isVisible }

    /// Draws the due frame; true when it has. While the display reads the last pixels nothing is, and the newest frame waits.
    private func present(_ now: MediaTime) throws -> Bool {
        guard !window.isBusy else { return false }
        if !isPaused, isVisible || !hasSize, let frame = state.take() {
            if !hasSize { try openWindow(for: frame) }
            if isUnchanged(frame) {
                shown = frame
                state.count { $0.framesUnchanged += 1 }
            } else if try draw(frame) {
                hasMissed = false
                state.recordShown(latency: MonotonicClock().now.nanoseconds(since: frame.timestamp))
                return true
            } else {
                hasMissed = true
                // Where it would have had another size the pixels have gone.
                if !window.hasPicture { needsRedraw = true }
            }
        }
        guard isVisible, let frame = shown else { return false }
        if showsStatistics, overlay.update(frame, at: now, state.statistics) { needsRedraw = true }
        if needsRedraw {
            guard try draw(frame) else { return false }
            state.count { $0.redraws += 1 }
            return true
        }
        guard needsRefresh, let place else { return false }
        needsRefresh = false
        try window.put(place)
        state.count { $0.refreshes += 1 }
        return true
    }

    /// Shows the window in the size of its first frame, or the largest of its aspect that the screen has room for.
    private func openWindow(for frame: VideoFrame) throws {
        let size = frame.displaySize
        let screen = try window.screenSize()
        let fits = size.width <= screen.width && size.height <= screen.height
        let inside = fitted(size, into: screen)
        try window.map(
            size: fits ? size : PixelSize(width: inside.width, height: inside.height),
            isFullScreen: configuration.isFullScreen)
        hasSize = true
        recordWindow()
        wantsDue = MonotonicClock().now
    }

    /// Whether the frame would look as the one that is shown.
    private func isUnchanged(_ frame: VideoFrame) -> Bool {
        guard let shown, !needsRedraw, !hasMissed, frame.damage?.isEmpty == true else { return false }
        return shown.width == frame.width && shown.height == frame.height && shown.orientation == frame.orientation
            && shown.isMirrored == frame.isMirrored && shown.color == frame.color
            && shown.pixelAspect == frame.pixelAspect
    }

    /// Draws a frame; false when it cannot be drawn, such as damaged JPEG.
    private func draw(_ frame: VideoFrame) throws -> Bool {
        let size = frame.displaySize
        let rect = fitted(size, into: window.size)
        let inner = PixelSize(width: rect.width, height: rect.height)
        // The mean of all pixels where four of them would be too few.
        let isSmall = inner.width * 2 < size.width || inner.height * 2 < size.height
        let mirrors = configuration.mirrors ?? frame.isMirrored
        do {
            // Text and the mean of pixels are made here alone.
            let isTaken = try !isSmall && !showsStatistics && window.take(frame, in: rect, mirrors: mirrors)
            if !isTaken {
                try window.draw(in: rect) { (memory, bytesPerRow) throws(CaptureError) in
                    try processor.draw(
                        frame, to: memory, bytesPerRow: bytesPerRow, size: inner, filter: isSmall ? .box : .bilinear,
                        mirrors: mirrors)
                    if showsStatistics {
                        _ = overlay.update(frame, at: MonotonicClock().now, state.statistics)
                        overlay.draw(on: memory, bytesPerRow: bytesPerRow, size: inner)
                    }
                }
            }
        } catch is CaptureError {
            state.count { $0.framesFailed += 1 }
            needsRedraw = false
            return false
        }
        if place != rect || needsRedraw { window.clear(around: rect) }
        try window.put(rect)
        (needsRedraw, needsRefresh) = (false, false)
        if place == nil { state.count { $0.usesSharedMemory = window.usesSharedMemory } }
        if shown?.width != frame.width || shown?.height != frame.height || shown?.orientation != frame.orientation {
            wantsDue = wantsDue ?? MonotonicClock().now
        }
        place = rect
        shown = frame
        return true
    }

    // MARK: Wants

    private func updateWants(_ now: MediaTime) {
        let (feedback, isNew) = state.currentFeedback()
        guard isNew || wantsDue.map({ $0 <= now }) ?? false else { return }
        wantsDue = nil
        let isIdle = isPaused || (hasSize && (!isVisible || window.isUnseen))
        var wants = CaptureWants(
            maximumFrameRate: isIdle ? 1 : nil, acceptsCompressed: true, acceptsNativeFormat: true)
        if let shown {
            let rect = fitted(shown.displaySize, into: window.size)
            wants.maximumPixelCount = rect.width * rect.height
        }
        guard isNew || wants != lastWants else { return }
        let wasIdle = lastWants?.maximumFrameRate != nil
        lastWants = wants
        feedback?.updateWants(wants)
        // What the limit has kept back may be all that a source at rest has to give.
        if wasIdle, !isIdle { feedback?.requestRefreshFrame() }
    }
}

/// The largest size of an aspect inside of another, in its middle.
func fitted(_ size: PixelSize, into outer: PixelSize) -> PixelRect {
    var (width, height) = (outer.width, outer.height)
    if size.width * outer.height >= size.height * outer.width {
        height = max(1, (size.height * outer.width + size.width / 2) / size.width)
    } else {
        width = max(1, (size.width * outer.height + size.height / 2) / size.height)
    }
    return PixelRect(
        x: (outer.width - width) / 2, y: (outer.height - height) / 2, width: width, height: height)
}
