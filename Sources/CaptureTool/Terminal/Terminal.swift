import MediaContainers
import Synchronization
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Standard error, where people look: lines, one status line that is written over and over, and a picture above it.
///
/// Safe to use from any thread. What cannot be written (a closed pipe) is lost without a word: there is nobody to
/// tell it to. A terminal or pipe that does not take a text within two seconds is waited for no longer, until it does
/// again; so nothing depends on its being read.
final class Terminal: Sendable {
    /// Whether somebody looks at it, rather than a file or a program.
    let isInteractive: Bool
    let style: TextStyle

    private struct State: ~Copyable {
        let target: WriteTarget
        /// It has not taken the last text within the timeout.
        var isStalled = false
        /// Only a part of the last text was taken.
        var isCut = false
        var hasStatus = false
        var showsPicture = false
        /// Between Ctrl-Z and `fg` the terminal is somebody else's.
        var isSuspended = false
        var pictureSize: (columns: Int, rows: Int)?
        /// Lines that came while the picture screen was shown; it takes them with it when it goes.
        var held: [String] = []

        init(_ descriptor: Int32) { target = WriteTarget(descriptor) }
    }

    private let timeout: Duration

    private let descriptor: Int32
    private let state: Locked<State>
    /// As in the state, for who must not wait for its lock.
    private let isPictureShown = Atomic(false)

    init(
        descriptor: Int32 = STDERR_FILENO, timeout: Duration = .seconds(2),
        environment: (String) -> String? = environmentVariable
    ) {
        self.descriptor = descriptor
        self.timeout = timeout
        state = Locked(State(descriptor))
        isInteractive = isatty(descriptor) == 1 && environment("TERM") != "dumb"
        style = TextStyle(isTerminal: isInteractive, environment: environment)
    }

    /// The size in characters, asked for anew each time, since windows are resized.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    // MARK: Lines

    /// Writes a line above the status line, without what a terminal would obey: names of files, devices and windows may
    /// hold anything.
    func writeLine(_ text: String) { writeStyled(printable(text, limit: .max)) }

    /// Writes a line that says what went wrong.
    func writeError(_ text: String) {
        writeStyled("\(style.error("error:")) \(printable(text, limit: 4096))")
    }

    private func writeStyled(_ text: String) {
        state.withLock { state in
            guard !state.showsPicture else {
                state.held.append(text)
                return
            }
            let erase = state.hasStatus ? "\r\u{1B}[K" : ""
            state.hasStatus = false
            write(erase + text + "\n", &state)
        }
    }

    /// Puts a line in the place of the last status line.
    ///
    /// - Parameter text: makes the line, to fit into so many columns.
    func rewriteStatus(_ text: (_ columns: Int, _ style: TextStyle) -> String) {
        let size = self.size
        // The last column is left free: some terminals wrap as soon as it is filled.
        let line = text(size.columns - 1, style)
        state.withLock { state in
            guard !state.isSuspended else { return }
            state.hasStatus = true
            let place = state.showsPicture ? "\u{1B}[\(size.rows);1H" : "\r"
            write("\(place)\(line)\u{1B}[K", &state)
        }
    }

    /// Takes the status line away.
    func clearStatus() {
        state.withLock { state in
            guard state.hasStatus else { return }
            state.hasStatus = false
            write("\r\u{1B}[K", &state)
        }
    }

    // MARK: Picture

    /// Shows a screen of its own for a picture, without a cursor.
    func enterPictureScreen() {
        state.withLock { state in
            state.showsPicture = true
            isPictureShown.store(true, ordering: .relaxed)
            write(Terminal.enterPicture, &state)
        }
    }

    /// Brings back what was on the terminal before. Harmless when there is no picture.
    func leavePictureScreen() {
        state.withLock { state in
            guard state.showsPicture else { return }
            state.showsPicture = false
            isPictureShown.store(false, ordering: .relaxed)
            state.hasStatus = false
            state.pictureSize = nil
            write(Terminal.leavePicture, &state)
            for line in state.held { write(line + "\n", &state) }
            state.held = []
        }
    }

    /// Writes a picture, if its screen is shown; a change of the size clears the screen before.
    func writePicture(_ bytes: UnsafeRawBufferPointer, size: (columns: Int, rows: Int)) {
        state.withLock { state in
            guard state.showsPicture, !state.isSuspended else { return }
            if let last = state.pictureSize, last != size { write("\u{1B}[2J", &state) }
            state.pictureSize = size
            write(bytes, &state)
        }
    }

    /// Brings the terminal back into its usual state at once, from the thread of a signal: without waiting for whoever
    /// writes to it, or for a terminal that is stopped.
    func restoreForExit() {
        guard isInteractive else { return }
        var text = isPictureShown.load(ordering: .relaxed) ? Terminal.leavePicture : "\u{1B}[0m\n"
        // Past the lock, and with a description of its own.
        text.withUTF8 { text in
            let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
            _ = WriteTarget(descriptor).write(UnsafeRawBufferPointer(text), nothing) { _ in true }
        }
    }

    /// Before the process is stopped by Ctrl-Z: gives the terminal back, and draws nothing until ``resume()``.
    func suspend() {
        state.withLock { state in
            state.isSuspended = true
            write(state.showsPicture ? Terminal.leavePicture : state.hasStatus ? "\n" : "", &state)
            state.hasStatus = false
        }
    }

    /// After the process goes on.
    func resume() {
        state.withLock { state in
            state.isSuspended = false
            state.pictureSize = nil
            if state.showsPicture { write(Terminal.enterPicture, &state) }
        }
    }

    private static let enterPicture = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J"
    private static let leavePicture = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"

    private func write(_ text: String, _ state: inout State) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0), &state) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) {
        // What was cut off ends there, and does not run into what follows.
        let separator: StaticString = state.isCut ? "\n" : ""
        let deadline = MonotonicClock().now.advanced(by: timeout)
        let result = separator.withUTF8Buffer { [isStalled = state.isStalled] separator in
            state.target.write(UnsafeRawBufferPointer(separator), bytes) { _ in
                isStalled || MonotonicClock().now >= deadline
            }
        }
        state.isStalled = result.code == ETIMEDOUT
        if result.written > 0 { state.isCut = state.isStalled }
    }
}

/// A variable of the environment.
func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
