import VideoCapturing
import XDisplay

extension WindowPreview {
    /// A window system that a ``WindowPreview`` can open its window on.
    ///
    /// ``x11`` is part of this module. `SDLPreview` adds `sdl`, for Wayland and for GPUs, so that only programs that use it
    /// link SDL2.
    public struct Backend: Sendable, Hashable {
        /// The name by which it is chosen, such as `x11`.
        public let name: String
        /// The environment variable that names the backend's display.
        package let variable: String
        /// The display that the environment names; nil for none.
        package var displayName: String? { XConnection.environment(variable) }
        private let start: @Sendable (WindowPreview.Configuration, PreviewState) throws(CaptureError) -> Void

        package init(
            name: String, variable: String,
            start: @escaping @Sendable (WindowPreview.Configuration, PreviewState) throws(CaptureError) -> Void
        ) {
            self.name = name
            self.variable = variable
            self.start = start
        }

        /// Windows of an X server by libxcb, with pixels in shared memory: the cheapest window without a GPU.
        public static let x11 = Backend(name: "x11", variable: "DISPLAY") {
            (configuration, state) throws(CaptureError) in try XPreview.start(configuration, state)
        }

        public static func == (one: Self, other: Self) -> Bool { one.name == other.name }

        public func hash(into hasher: inout Hasher) { hasher.combine(name) }

        /// Opens the window of a configuration by the first of its backends that can: of those whose display the
        /// environment names, in their order. If it names none, the first backend's error states the missing variable.
        static func start(
            _ configuration: WindowPreview.Configuration, onEvent: @escaping @Sendable (WindowPreview.Event) -> Void
        ) throws(CaptureError) -> PreviewState {
            guard let first = configuration.backends.first else {
                throw CaptureError(
                    .invalidConfiguration, operation: "open a window",
                    message: "The list of backends is empty; name one, such as x11.")
            }
            var candidates = configuration.backends
            if configuration.display == nil {
                candidates.removeAll { $0.displayName == nil }
            } else {
                // An X display.
                candidates.removeAll { $0 != .x11 }
            }
            if candidates.isEmpty { candidates = [first] }
            while true {
                // One that has failed has ended its state.
                let state = PreviewState(onEvent: onEvent)
                do {
                    try candidates.removeFirst().start(configuration, state)
                    return state
                } catch {
                    // The last one is the one that has the desktop's own display.
                    if candidates.isEmpty { throw error }
                }
            }
        }
    }
}

/// The window of a ``PreviewLoop``, on any window system. Confined to the thread of its preview.
///
/// Errors but `CaptureError` from ``draw(in:_:)`` mean that the window is lost.
package protocol PreviewWindow: AnyObject {
    /// The size of the inside in pixels.
    var size: PixelSize { get }
    /// Whether any of it can be seen, as far as the window system says.
    var isVisible: Bool { get }
    /// Whether the display shows nothing of it at the moment although it may, as on another desktop.
    var isUnseen: Bool { get }
    var isFullScreen: Bool { get }
    /// Whether the display still reads the last pixels, or has no use for new ones yet.
    var isBusy: Bool { get }
    /// Whether there is a picture to be put.
    var hasPicture: Bool { get }
    var usesSharedMemory: Bool { get }

    /// Shows the window, in the given size.
    func map(size: PixelSize, isFullScreen: Bool) throws

    /// The size that a window can have on its screen.
    func screenSize() throws -> PixelSize

    /// Enters or leaves full screen.
    ///
    /// - Returns: whether it is done; false where the window system reports it later, or nothing changes.
    func setFullScreen(_ isWanted: Bool) throws -> Bool

    /// Takes the samples of a frame as they are, where the display converts, scales and rotates them itself.
    ///
    /// - Parameters:
    ///   - frame: the frame.
    ///   - rect: its place, upright.
    ///   - mirrors: whether to exchange left and right, as seen when upright.
    /// - Returns: false where it needs pixels by ``draw(in:_:)``.
    func take(_ frame: VideoFrame, in rect: PixelRect, mirrors: Bool) throws -> Bool

    /// Has `draw` write a picture of blue, green, red, alpha for a part of the window, to be shown by ``put(_:)``.
    func draw(
        in rect: PixelRect,
        _ draw: (_ memory: UnsafeMutablePointer<UInt8>, _ bytesPerRow: Int) throws(CaptureError) -> Void
    ) throws

    /// Blackens what lies around a picture.
    func clear(around rect: PixelRect)

    /// Shows the picture, in the part of the window that it was made for.
    func put(_ rect: PixelRect) throws
}

extension PreviewWindow {
    package var isUnseen: Bool { false }

    package func take(_ frame: VideoFrame, in rect: PixelRect, mirrors: Bool) throws -> Bool { false }
}

/// What a window system reports of a window.
package enum PreviewWindowEvent {
    case key(PreviewKey)
    case resized
    /// Parts were uncovered, whose pixels have gone.
    case exposed
    /// All pixels have gone, those of the picture too.
    case discarded
    /// It was mapped, unmapped, covered or uncovered.
    case visibility
    case fullScreen
    /// The user wants it closed, or another program has destroyed it.
    case closed
}

/// The keys of a preview.
package enum PreviewKey: Sendable {
    case pause, still, statistics, fullScreen, leaveFullScreen, quit

    /// The key of a symbol: the numbers of `X11/keysymdef.h` and of SDL are ASCII's, and Esc is passed by its own.
    ///
    /// - Parameters:
    ///   - symbol: what the key writes in the present layout.
    ///   - escape: the number of Esc.
    package init?(symbol: UInt32, escape: UInt32) {
        switch symbol {
        case 0x20: self = .pause
        case 0x46, 0x66: self = .fullScreen
        case 0x49, 0x69: self = .statistics
        case 0x51, 0x71: self = .quit
        case 0x53, 0x73: self = .still
        case escape: self = .leaveFullScreen
        default: return nil
        }
    }
}

/// The opening of a window, which one thread asks for and another does. Safe to use from any thread.
package struct PreviewStart: Sendable {
    /// Longer than any wait for a display.
    package static let timeout = Duration.seconds(10)

    private let outcome = Locked<Result<Void, CaptureError>?>(nil)

    package init() {}

    /// Called by the thread that opens it.
    package func report(_ result: Result<Void, CaptureError>) {
        outcome.withLock { $0 = result }
        outcome.wakeAll()
    }

    /// Blocks until the window is open.
    ///
    /// - Returns: whether it is; false when the display has not answered in time.
    package func wait() throws(CaptureError) -> Bool {
        switch outcome.wait(until: MonotonicClock().now.advanced(by: PreviewStart.timeout), for: { $0 }) {
        case .success?: return true
        case .failure(let error)?: throw error
        case nil: return false
        }
    }
}
