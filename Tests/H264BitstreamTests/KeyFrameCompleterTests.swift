import CaptureCore
import H264Bitstream
import Testing

@Suite struct KeyFrameCompleterTests {
    private let sps: [UInt8] = [0x67, 66, 0xC0, 31, 0x8C, 0x8D]
    private let pps: [UInt8] = [0x68, 0xCE, 0x3C, 0x80]
    private let picture: [UInt8] = [0x65, 0x88, 1, 2]
    private let pool = PacketBufferPool()

    private func stream(_ units: [UInt8]...) -> [UInt8] { units.flatMap { [0, 0, 0, 1] + $0 } }

    private func complete(_ bytes: [UInt8], _ completer: inout KeyFrameCompleter) -> [UInt8] {
        bytes.withUnsafeBytes { completer.complete($0, pool) }.withUnsafeBytes { Array($0) }
    }

    private func slice(_ bytes: [UInt8], _ completer: inout KeyFrameCompleter) -> NALUnit.Kind? {
        bytes.withUnsafeBytes { completer.slice(in: $0) }
    }

    @Test func setsThatComeOnceAreRepeated() {
        var completer = KeyFrameCompleter()
        let first = stream(sps, pps, picture)
        #expect(complete(first, &completer) == first)
        #expect(complete(stream(picture), &completer) == first)
        // New ones replace the old ones.
        let other: [UInt8] = [0x67, 66, 0xC0, 30, 0x8C, 0x8D]
        #expect(complete(stream(other, pps, picture), &completer) == stream(other, pps, picture))
        #expect(complete(stream(picture), &completer) == stream(other, pps, picture))
        #expect(completer.parameterSets?.sequenceParameterSets == [other])
    }

    /// Some drivers give them in a buffer of their own, before the first picture.
    @Test func setsMayComeByThemselves() {
        var completer = KeyFrameCompleter()
        #expect(slice(stream(sps, pps), &completer) == nil)
        #expect(slice(stream(picture), &completer) == .idrSlice)
        #expect(slice(stream(sps, pps, [0x41, 0x9A]), &completer) == .slice)
        #expect(complete(stream(picture), &completer) == stream(sps, pps, picture))
    }

    @Test func withoutSetsAPacketIsAsItIs() {
        var completer = KeyFrameCompleter()
        for bytes in [stream(picture), stream(sps, picture), [], [1, 2, 3], [0, 0, 1], stream([0x67], pps)] {
            #expect(complete(bytes, &completer) == bytes)
            #expect(slice([], &completer) == nil)
        }
        #expect(completer.parameterSets == nil)
    }
}
