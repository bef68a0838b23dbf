import Testing
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Terminals that have stalled.
@Suite struct StallTests {
    @Test func aTerminalThatIsNotRead() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let terminal = Terminal(descriptor: ends[1], timeout: .milliseconds(50)) { _ in nil }
        for _ in 0..<5 { terminal.writeLine(String(repeating: "x", count: 50_000)) }
        terminal.writeLine("lost")
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var count = read(ends[0], &bytes, bytes.count)
        // What did not fit is cut.
        #expect(count > 50_000 && count < 250_000)
        terminal.writeLine("read again")
        count = read(ends[0], &bytes, bytes.count)
        #expect(String(decoding: bytes[..<count], as: UTF8.self) == "\nread again\n")
        terminal.writeLine("and again")
        count = read(ends[0], &bytes, bytes.count)
        #expect(String(decoding: bytes[..<count], as: UTF8.self) == "and again\n")
        for end in ends { close(end) }
    }
}
