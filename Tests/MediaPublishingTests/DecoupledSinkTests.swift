import TestTools
import Testing
import VideoCapturing

@testable import MediaPublishing

/// The sink of an output whose reader may take nothing.
@Suite struct DecoupledSinkTests {
    /// Waits in each write until it is released, or throws.
    private final class StalledSink: PacketSink {
        let release = ManualResetEvent()
        let written = Locked<[UInt64]>([])
        let failure = Locked<CaptureError?>(nil)

        func begin(_ tracks: [TrackDescription]) {}
        func write(_ packet: MediaPacket) throws {
            release.wait(until: MonotonicClock().now.advanced(by: .seconds(600)))
            if let failure = failure.withLock({ $0 }) { throw failure }
            written.withLock { $0.append(packet.sequenceNumber) }
        }
        func finish() {}
    }

    private static let track = TrackDescription(id: 0, codec: .vp8, media: .video(.init(width: 2, height: 2)))

    private func packet(_ number: Int) -> MediaPacket {
        MediaPacket(
            data: [UInt8(1)].withUnsafeBytes { PacketBuffer(copying: $0) },
            timestamp: MediaTime(nanoseconds: Int64(number)), isKeyFrame: number == 0,
            width: 2, height: 2, sequenceNumber: UInt64(number))
    }

    @Test func aStalledReaderDelaysNoWriteAndLosesNothing() throws {
        let inner = StalledSink()
        let sink = DecoupledSink(inner, timeout: .seconds(600)) { Issue.record("nothing is dropped") }
        try sink.begin([Self.track])
        for number in 0..<1000 { try sink.write(packet(number)) }
        #expect(inner.written.withLock { $0.isEmpty })
        inner.release.raise()
        try sink.finish()
        #expect(inner.written.withLock { $0 } == Array(0..<1000))
    }

    @Test func itsErrorIsThatOfTheNextWriteAndOfTheEnd() throws {
        let inner = StalledSink()
        inner.failure.withLock { $0 = CaptureError(.stalled, operation: "write", message: "The reader takes nothing.") }
        let sink = DecoupledSink(inner, timeout: .seconds(600)) {}
        try sink.begin([Self.track])
        try sink.write(packet(0))
        inner.release.raise()
        var number = 0
        #expect(
            eventually {
                number += 1
                return (try? sink.write(packet(number))) == nil
            })
        let error = #expect(throws: CaptureError.self) { try sink.finish() }
        #expect(error?.code == .stalled)
    }

    @Test func whatIsTooMuchIsDroppedAndReportedOnce() throws {
        let inner = StalledSink()
        let drops = Locked(0)
        let sink = DecoupledSink(inner, timeout: .seconds(600)) { drops.withLock { $0 += 1 } }
        try sink.begin([Self.track])
        for number in 0..<9000 { try sink.write(packet(number)) }
        #expect(drops.withLock { $0 } == 1)
        inner.release.raise()
        try sink.finish()
        // Up to the key frame that is missing.
        #expect(inner.written.withLock { $0.count } < 4097)
    }
}
