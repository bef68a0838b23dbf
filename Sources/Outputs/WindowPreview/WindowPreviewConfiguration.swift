public import VideoCapturing

extension WindowPreview {
    /// Where and how a ``WindowPreview`` shows frames.
    public struct Configuration: Sendable, Hashable {
        /// The window systems to open it on: the first that the environment has (`DISPLAY`, `WAYLAND_DISPLAY`) and that
        /// answers is used.
        public var backends: [WindowPreview.Backend]
        /// The X display, such as `:0`; nil for that of the environment (`DISPLAY`).
        public var display: String?
        /// The title of the window.
        public var title: String
        /// The size in which the window opens, in pixels; nil for that of the first frame, made smaller where the screen is.
        public var size: PixelSize?
        /// Whether to exchange left and right; nil for what each frame says (`VideoFrame.isMirrored`).
        public var mirrors: Bool?
        /// Whether the window opens in full screen.
        public var isFullScreen: Bool
        /// Whether the statistics are shown from the beginning; `i` changes it.
        public var showsStatistics: Bool

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - display: the X display; nil for that of the environment.
        ///   - title: the title of the window.
        ///   - size: the size in which it opens; nil for that of the first frame.
        ///   - mirrors: whether to exchange left and right; nil for what each frame says.
        ///   - isFullScreen: whether it opens in full screen.
        ///   - showsStatistics: whether the statistics are shown from the beginning.
        ///   - backends: the window systems to open it on, in the order of preference.
        public init(
            display: String? = nil, title: String = "Preview", size: PixelSize? = nil, mirrors: Bool? = nil,
            isFullScreen: Bool = false, showsStatistics: Bool = false, backends: [WindowPreview.Backend] = [.x11]
        ) {
            self.display = display
            self.title = title
            self.size = size
            self.mirrors = mirrors
            self.isFullScreen = isFullScreen
            self.showsStatistics = showsStatistics
            self.backends = backends
        }
    }
}

extension WindowPreview {
    /// An event of a ``WindowPreview``: what its user has done, or how it has ended.
    public enum Event: Sendable {
        /// The picture was frozen, or goes on (space).
        case paused(Bool)
        /// Full screen was entered or left (`f`, Esc, or by the window manager).
        case fullScreen(Bool)
        /// The statistics were shown or hidden (`i`).
        case statistics(Bool)
        /// The user wants a still image (`s`) of this frame, the one that is shown.
        case still(VideoFrame)
        /// The user wants to quit (`q`). The window stays until the program closes it.
        case quit
        /// The user has closed the window. The preview has removed itself from its publisher.
        case closed
        /// The display was lost. The preview has removed itself from its publisher; the code is `deviceLost`.
        case failed(CaptureError)
    }
}

extension WindowPreview {
    /// The counters of a ``WindowPreview`` since it was opened.
    public struct Statistics: Sendable, Hashable {
        /// Frames received.
        public var framesReceived: UInt64 = 0
        /// Frames drawn.
        public var framesShown: UInt64 = 0
        /// Frames that a newer one replaced before they were drawn: while drawing, paused or hidden.
        public var framesReplaced: UInt64 = 0
        /// Frames that were not drawn since they equal the one before.
        public var framesUnchanged: UInt64 = 0
        /// Frames that could not be drawn, such as damaged JPEG.
        public var framesFailed: UInt64 = 0
        /// How often the last frame was drawn again: in another size, or with other statistics.
        public var redraws: UInt64 = 0
        /// How often pixels were sent again as they are, since a part of the window was uncovered.
        public var refreshes: UInt64 = 0
        /// The median time from a frame's timestamp to its hand-over to the display; nil before the first.
        public var p50Latency: Duration?
        /// The 99th percentile of the same.
        public var p99Latency: Duration?
        /// The size of the window in pixels; nil before it is shown.
        public var windowSize: PixelSize?
        /// Whether pixels reach the X server through shared memory.
        public var usesSharedMemory = false

        /// Counters at zero.
        public init() {}
    }
}
