import Testing
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct PreviewTests {
    @Test func picturesKeepTheirAspect() {
        #expect(HalfBlockRenderer.fit(width: 640, height: 480, columns: 80, rows: 23) == (61, 46))
        #expect(HalfBlockRenderer.fit(width: 640, height: 480, columns: 40, rows: 100) == (40, 30))
        #expect(HalfBlockRenderer.fit(width: 16000, height: 2, columns: 80, rows: 24) == (80, 1))
        #expect(HalfBlockRenderer.fit(width: 2, height: 16000, columns: 80, rows: 24) == (1, 48))
        #expect(HalfBlockRenderer.fit(width: 4, height: 4, columns: 0, rows: 0) == (1, 1))
    }

    private func drawn(_ colors: TextStyle.Colors, columns: Int = 2) throws -> String {
        let picture = try PixelBuffer.make(.argb, width: 2, height: 2) { pixels in
            // Red and red above, blue and white below.
            pixels.fill(plane: 0) { column, row in
                let colors: [[UInt8]] = [[255, 255, 0, 0, 255, 255, 0, 0], [255, 0, 0, 255, 255, 255, 255, 255]]
                return colors[row][column]
            }
        }
        var text = ""
        var drawing = HalfBlockRenderer(colors)
        drawing.draw(picture, columns: columns) { text = String(decoding: $0, as: UTF8.self) }
        return text
    }

    @Test func twoPixelsAreOneCharacter() throws {
        #expect(
            try drawn(.direct)
                == "\u{1B}[1;1H\u{1B}[38;2;255;0;0m\u{1B}[48;2;0;0;255m▀\u{1B}[48;2;255;255;255m▀\u{1B}[0m")
        #expect(try drawn(.indexed256) == "\u{1B}[1;1H\u{1B}[38;5;196m\u{1B}[48;5;21m▀\u{1B}[48;5;231m▀\u{1B}[0m")
    }

    @Test func withoutColorsTheInkTells() throws {
        #expect(try drawn(.none, columns: 6) == "\u{1B}[1;3H.+")
    }

    /// A terminal of its own: what is written to one end of it is read at the other.
    private final class PseudoTerminal {
        let user: Int32
        let program: Int32

        init() throws {
            user = open("/dev/ptmx", O_RDWR | O_NOCTTY)
            // TIOCSPTLCK and TIOCGPTN, which are macros that do not reach Swift; as unlockpt and ptsname do it.
            var isLocked: Int32 = 0
            var number: UInt32 = 0
            try #require(user >= 0 && ioctl(user, 0x4004_5431, &isLocked) == 0)
            try #require(ioctl(user, 0x8004_5430, &number) == 0)
            program = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
            try #require(program >= 0)
            var size = winsize(ws_row: 10, ws_col: 40, ws_xpixel: 0, ws_ypixel: 0)
            try #require(ioctl(program, UInt(TIOCSWINSZ), &size) == 0)
        }

        deinit {
            close(program)
            close(user)
        }

        func seen() -> String {
            var bytes = [UInt8](repeating: 0, count: 65536)
            var result: [UInt8] = []
            var waiting = pollfd(fd: user, events: Int16(POLLIN), revents: 0)
            while poll(&waiting, 1, 50) == 1 {
                let count = read(user, &bytes, bytes.count)
                guard count > 0 else { break }
                result += bytes.prefix(count)
            }
            return String(decoding: result, as: UTF8.self)
        }
    }

    private let xterm: (String) -> String? = { $0 == "TERM" ? "xterm" : nil }

    @Test func theStatusIsOneLineWithinTheTerminal() throws {
        let pseudo = try PseudoTerminal()
        let terminal = Terminal(descriptor: pseudo.program, environment: xterm)
        #expect(terminal.isInteractive)
        #expect(terminal.size == (40, 10))
        terminal.rewriteStatus { columns, _ in String(repeating: "x", count: columns) }
        #expect(pseudo.seen() == "\r\(String(repeating: "x", count: 39))\u{1B}[K")
        terminal.writeError("no\u{1B}[2J\nmore")
        #expect(pseudo.seen() == "\r\u{1B}[K\u{1B}[1;31merror:\u{1B}[0m no?[2J?more\r\n")
        terminal.clearStatus()
        #expect(pseudo.seen() == "")
    }

    @Test func thePictureScreenIsLeftAsItWasFound() throws {
        let pseudo = try PseudoTerminal()
        let terminal = Terminal(descriptor: pseudo.program, environment: xterm)
        terminal.enterPreview()
        terminal.writeLine("said meanwhile")
        let frame = VideoFrame(
            buffer: try PixelBuffer.black(.nv12, width: 16, height: 8, color: .bt601), timestamp: .zero)
        let preview = PreviewConsumer(terminal)
        preview.consumeFrame(frame)
        let before = pseudo.seen()
        #expect(before.hasPrefix("\u{1B}[?1049h\u{1B}[?25l"))
        #expect(before.contains("\u{1B}[9;") && !before.contains("\u{1B}[10;"), "the last row is the status line's")
        #expect(!before.contains("said meanwhile"))

        terminal.suspend()
        preview.consumeFrame(VideoFrame(buffer: frame.buffer, timestamp: MediaTime(nanoseconds: 1_000_000_000)))
        #expect(pseudo.seen() == "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l", "nothing is drawn while it is stopped")
        terminal.resume()
        #expect(pseudo.seen().hasPrefix("\u{1B}[?1049h\u{1B}[?25l"))
        terminal.leavePreview()
        terminal.leavePreview()
        #expect(pseudo.seen() == "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049lsaid meanwhile\r\n")
    }
}
