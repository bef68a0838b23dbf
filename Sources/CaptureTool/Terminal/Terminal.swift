import MediaContainers
import Synchronization
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Standard error: lines, one status line that is rewritten in place, and a preview above it.
///
/// Safe to use from any thread. Text that cannot be written (a closed pipe) is lost silently, since there is nowhere
/// else to report it. When a terminal or pipe has blocked for two seconds, later writes do not wait for it until it
/// accepts text again; so nothing depends on its reader.
final class Terminal: Sendable {
    /// That of this process.
    static let shared = Terminal()

    /// Whether it is a terminal, rather than a file or a pipe.
    let isInteractive: Bool
    let style: TextStyle
    /// The keys that are pressed in it.
    let keyboard = Keyboard()

    private struct State: ~Copyable {
        let target: WriteTarget
        /// The last write has timed out.
        var isStalled = false
        /// Only a part of the last text was written.
        var isCut = false
        var hasStatus = false
        var showsPreview = false
        /// Between Ctrl-Z and `fg` the terminal belongs to the shell.
        var isSuspended = false
        var previewSize: (columns: Int, rows: Int)?
        /// Lines that were written during the preview. They are printed after it, since its screen disappears.
        var held: [String] = []

        init(_ descriptor: Int32) { target = WriteTarget(descriptor) }
    }

    private let timeout: Duration

    private let descriptor: Int32
    private let state: Locked<State>
    /// A copy of the state's, for ``restoreForExit()``, which must not wait for the lock.
    private let isPreviewShown = Atomic(false)

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

    /// The size in characters, queried on each call, since windows are resized.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Whether a preview is shown: lines are held until its end.
    var showsPreview: Bool { isPreviewShown.load(ordering: .relaxed) }

    // MARK: Lines

    /// Writes a line above the status line, without characters that a terminal would obey: names of files, devices and
    /// windows may contain anything.
    ///
    /// - Parameter limit: the maximum number of characters.
    func writeLine(_ text: String, limit: Int = .max) { writeStyled(printable(text, limit: limit)) }

    /// Writes an error message.
    func writeError(_ text: String) {
        writeStyled("\(style.error("error:")) \(printable(text, limit: 4096))")
    }

    private func writeStyled(_ text: String) {
        state.withLock { state in
            guard !state.showsPreview else {
                state.held.append(text)
                return
            }
            let erase = state.hasStatus ? "\r\u{1B}[K" : ""
            state.hasStatus = false
            write(erase + text + "\n", &state)
        }
    }

    /// Replaces the status line.
    ///
    /// - Parameter text: makes the line, to fit into a number of columns.
    func rewriteStatus(_ text: (_ columns: Int, _ style: TextStyle) -> String) {
        let size = self.size
        // The last column is left free: some terminals wrap as soon as it is filled.
        let line = text(size.columns - 1, style)
        state.withLock { state in
            guard !state.isSuspended else { return }
            state.hasStatus = true
            let place = state.showsPreview ? "\u{1B}[\(size.rows);1H" : "\r"
            write("\(place)\(line)\u{1B}[K", &state)
        }
    }

    /// Removes the status line.
    func clearStatus() {
        state.withLock { state in
            guard state.hasStatus else { return }
            state.hasStatus = false
            write("\r\u{1B}[K", &state)
        }
    }

    // MARK: Preview

    /// Switches to a separate screen for the preview, without a cursor.
    func enterPreview() {
        state.withLock { state in
            state.showsPreview = true
            isPreviewShown.store(true, ordering: .relaxed)
            write(Terminal.previewStart, &state)
        }
    }

    /// Restores the previous contents of the terminal; does nothing without a preview.
    func leavePreview() {
        state.withLock { state in
            guard state.showsPreview else { return }
            state.showsPreview = false
            isPreviewShown.store(false, ordering: .relaxed)
            state.hasStatus = false
            state.previewSize = nil
            write(Terminal.previewEnd, &state)
            for line in state.held { write(line + "\n", &state) }
            state.held = []
        }
    }

    /// Writes a frame as text, if the preview is shown; when the size has changed, clears the screen first.
    func writePreview(_ bytes: UnsafeRawBufferPointer, size: (columns: Int, rows: Int)) {
        state.withLock { state in
            guard state.showsPreview, !state.isSuspended else { return }
            if let last = state.previewSize, last != size { write("\u{1B}[2J", &state) }
            state.previewSize = size
            write(bytes, &state)
        }
    }

    /// Restores the usual state of the terminal immediately, from the signal thread: without waiting for a thread that
    /// writes to it, or for a terminal that is stopped.
    func restoreForExit() {
        keyboard.end()
        guard isInteractive else { return }
        var text = isPreviewShown.load(ordering: .relaxed) ? Terminal.previewEnd : "\u{1B}[0m\n"
        // Without the lock, and with a separate file description.
        text.withUTF8 { text in
            let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
            _ = WriteTarget(descriptor).write(UnsafeRawBufferPointer(text), nothing) { _ in true }
        }
    }

    /// Restores the terminal before Ctrl-Z stops the process; nothing is drawn until ``resume()``.
    func suspend() {
        keyboard.suspend()
        state.withLock { state in
            state.isSuspended = true
            write(state.showsPreview ? Terminal.previewEnd : state.hasStatus ? "\n" : "", &state)
            state.hasStatus = false
        }
    }

    /// Shows the preview again after the process continues.
    func resume() {
        keyboard.resume()
        state.withLock { state in
            state.isSuspended = false
            state.previewSize = nil
            if state.showsPreview { write(Terminal.previewStart, &state) }
        }
    }

    private static let previewStart = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J"
    private static let previewEnd = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"

    private func write(_ text: String, _ state: inout State) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0), &state) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) {
        // A line break separates a text that was cut off from the next one.
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
