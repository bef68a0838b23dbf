import AudioCapturing
import MP3Codec

/// Any bytes give the same frames however they are cut into pieces; each is whole, stands where the parser says, and is
/// decoded to samples that it can hold.
///
/// The first byte chooses the size of the pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMP3(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let start, count > 1 else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let whole = frames(bytes, pieceSize: bytes.count)
    precondition(whole == frames(bytes, pieceSize: 1 + Int(start[0])), "the pieces made other frames")
    guard let decoder = try? MP3Decoder(sampleType: start[0] & 1 == 0 ? .float32 : .int16) else { return 0 }
    let parser = MP3FrameParser(capacity: bytes.count)
    _ = parser.append(bytes)
    parser.finish()
    while let frame = parser.next() {
        _ = MP3InformationTag(frame)
        try? decoder.decode(frame) { block in
            precondition(block.frameCount <= 1152 && (1...2).contains(block.format.channels.count))
            precondition(block.samples.count == block.frameCount * block.format.bytesPerFrame)
        }
    }
    return 0
}

private struct Found: Equatable {
    var position: Int64
    var bytes: [UInt8]
}

private func frames(_ bytes: UnsafeRawBufferPointer, pieceSize: Int) -> [Found] {
    let parser = MP3FrameParser(capacity: max(8192, pieceSize))
    var found: [Found] = []
    func take() {
        while let frame = parser.next() {
            precondition(frame.bytes.count == frame.header.byteCount && frame.bytes[0] == 0xFF)
            precondition(bytes[Int(frame.position)...].starts(with: frame.bytes))
            found.append(Found(position: frame.position, bytes: Array(frame.bytes)))
        }
    }
    for start in stride(from: 0, to: bytes.count, by: pieceSize) {
        var piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(bytes.count, start + pieceSize)])
        while !piece.isEmpty {
            let taken = parser.append(piece)
            take()
            // Whatever it holds, a parser that was asked for frames has room again.
            precondition(taken > 0)
            piece = UnsafeRawBufferPointer(rebasing: piece[taken...])
        }
    }
    parser.finish()
    take()
    return found
}
