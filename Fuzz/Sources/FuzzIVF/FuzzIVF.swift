import FuzzSupport
import MediaContainers
import VideoCapturing

/// Any bytes end in packets or in an error, the packets are no more than the bytes, and their times can be played and
/// reported on.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzIVF(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withFuzzFiles(UnsafeRawBufferPointer(start: start, count: count)) { file in
        guard let reader = try? IVFReader(file) else { return }
        precondition(FourCC("\(reader.fourCC)" as String).map { $0 == reader.fourCC } ?? true)
        var bytes = 32
        var packets = 0
        while let packet = try? reader.nextPacket() {
            // What a user does with the time must not trap.
            _ = MediaTime.zero.advanced(by: packet.timestamp)
            bytes += 12 + packet.data.count
            packets += 1
        }
        precondition(bytes <= count, "more packets than bytes")
        guard reader.canRewind else { return }
        guard (try? reader.rewind()) != nil else { fatalError("what was read once is read again") }
        var again = 0
        while (try? reader.nextPacket()) != nil { again += 1 }
        precondition(again == packets)
    }
    playWithReports(decoders: [anyPicture])
    return 0
}

/// Makes a picture of any packet, since what matters here are the times.
private let anyPicture = VideoDecoderFactory(fourCC: "VP80") { PictureMaker() }

private final class PictureMaker: VideoDecoder {
    private let picture = try! PixelBuffer.black(.i420, width: 2, height: 2, color: .bt601)

    func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws { try output(picture) }
}
