@_spi(Fuzzing) import RadioPlayer

/// Metadata is taken out of any bytes the same way however they are cut, no byte of them is lost, and titles and playlists
/// are read without a crash.
///
/// The first two bytes choose the interval and the size of the pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRadio(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let start, count > 2 else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: start + 2, count: count - 2)
    let interval = Int(start[0])
    let whole = RadioParsing.split(bytes, interval: interval, pieceSize: bytes.count)
    let pieces = RadioParsing.split(bytes, interval: interval, pieceSize: 1 + Int(start[1]))
    precondition(whole == pieces, "the pieces made other sound")
    precondition(whole.sound.count <= bytes.count)
    RadioParsing.readText(bytes)
    return 0
}
