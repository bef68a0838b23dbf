import Testing
import VideoCapturing

@testable import CameraCapturer

@Suite struct ParameterSetsTests {
    private static let picture: [UInt8] = [0, 0, 1, 0x65, 0x88, 0x84]
    private static let delimiter: [UInt8] = [0, 0, 0, 1, 0x09, 0xF0]

    private func read(_ sets: inout ParameterSets, _ bytes: [UInt8]) -> ParameterSets.Content {
        bytes.withUnsafeBytes { sets.read($0) }
    }

    @Test func readsUpToThePicture() {
        var sets = ParameterSets(.h264)
        #expect(
            read(&sets, []) == .nothing && read(&sets, [1, 2, 3, 4]) == .nothing && read(&sets, [0, 0, 1]) == .nothing)
        #expect(read(&sets, ParameterSetsTests.picture) == .picture(isKey: true, isComplete: false))
        #expect(sets.decoderConfiguration == nil && sets.bytes.isEmpty)
        let whole = EncodedPictures.parameterSets(.h264)
        #expect(read(&sets, whole + ParameterSetsTests.picture) == .picture(isKey: true, isComplete: true))
        #expect(sets.bytes == whole && sets.decoderConfiguration?.first == 1)
        #expect(read(&sets, [0, 0, 1, 0x41, 0x9A]) == .picture(isKey: false, isComplete: false))
        #expect(read(&sets, [0, 0, 1, 0x06, 1] + [0, 0, 1, 0x61, 0x9A]) == .picture(isKey: false, isComplete: false))
    }

    /// Each kind may come in a separate buffer, and replaces the one before.
    @Test func takesEachKind() {
        var sets = ParameterSets(.h264)
        #expect(read(&sets, [0, 0, 1, 0x67, 0x42, 0, 0x1E]) == .setsOnly && !sets.isComplete)
        #expect(read(&sets, [0, 0, 1, 0x68, 0xCE]) == .setsOnly && sets.isComplete)
        #expect(read(&sets, [0, 0, 1, 0x67, 0x4D, 0, 0x1F]) == .setsOnly)
        #expect(sets.bytes == [0, 0, 0, 1, 0x67, 0x4D, 0, 0x1F, 0, 0, 0, 1, 0x68, 0xCE])
    }

    /// An access unit begins with its delimiter.
    @Test func putsThemAfterADelimiter() {
        var sets = ParameterSets(.h264)
        let whole = EncodedPictures.parameterSets(.h264)
        _ = read(&sets, whole)
        for (before, after) in [
            ([], ParameterSetsTests.picture), (ParameterSetsTests.delimiter, ParameterSetsTests.picture),
        ] {
            var stream: [UInt8] = []
            (before + after).withUnsafeBytes { sets.append($0, to: &stream) }
            #expect(stream == before + whole + after)
        }
    }

    @Test func knowsTheKeyFramesOfH265() {
        var sets = ParameterSets(.hevc)
        for type in UInt8(0)...31 {
            #expect(
                read(&sets, [0, 0, 1, type << 1, 1, 0x80])
                    == .picture(isKey: (16...21).contains(type), isComplete: false))
        }
        #expect(read(&sets, [0, 0, 1, 35 << 1, 1, 0x50]) == .setsOnly)
    }

    /// Whatever a cable makes of it.
    @Test func takesDamage() {
        var random = SystemRandomNumberGenerator()
        for codec in [Codec.h264, .hevc] {
            var sets = ParameterSets(codec)
            for _ in 0..<2000 {
                var bytes = EncodedPictures.parameterSets(codec) + ParameterSetsTests.picture
                for _ in 0..<4 {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...3, using: &random)
                }
                bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
                _ = read(&sets, bytes)
                _ = sets.decoderConfiguration
            }
        }
    }
}
