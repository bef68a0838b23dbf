import Testing
import VideoCapturing

@testable import StreamCapturer

/// When a picture of a raw stream counts as whole before the next has begun, by a clock of the test's own.
@Suite struct PauseTests {
    private let connection = StreamConnection(nil, maximumPictureBytes: 1 << 20, now: .zero)

    /// A slice of a picture that is no key frame, with its start code.
    private func picture(_ count: Int) -> [UInt8] {
        [0, 0, 0, 1, 0x41, 0x9A] + [UInt8](repeating: 0x55, count: count - 6)
    }

    private func append(_ bytes: some Collection<UInt8>, at milliseconds: Int64) throws {
        try Array(bytes).withUnsafeBytes { bytes in
            try connection.append(bytes, at: MediaTime(nanoseconds: milliseconds * 1_000_000), arrival: .zero)
        }
    }

    private func begin() throws {
        connection.kind = .annexB
        for number in 0..<10 { try append(picture(500), at: Int64(number) * 33) }
        #expect(connection.mayFlush && connection.pause == .milliseconds(4))
    }

    /// A sender's buffer that is full says that more follows, late on a busy machine.
    @Test func aFullBufferIsNoEnd() throws {
        try begin()
        let large = picture(40_000)
        try append(large.prefix(32_768), at: 333)
        #expect(connection.pause == .milliseconds(64))
        try append(large.dropFirst(32_768), at: 333)
        #expect(connection.pause == .milliseconds(4))
    }

    /// Pauses within a picture lengthen the one that ends it.
    @Test func pausesAreMeasured() throws {
        try begin()
        let large = picture(9000)
        try append(large.prefix(5000), at: 333)
        try append(large.dropFirst(5000), at: 343)
        #expect(connection.pause == .milliseconds(40))
        // And no more than a second.
        try append([0x55], at: 2343)
        #expect(connection.pause == .seconds(1))
    }
}
