import H264Bitstream

/// Any bytes give the same access units however they are cut into chunks; what is converted loses no NAL unit; and
/// parameter sets are refused or written as they were read.
///
/// The first byte chooses the size of the chunks.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzH264(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let start, count > 1 else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let whole = accessUnits(of: bytes, chunkSize: bytes.count)
    precondition(whole == accessUnits(of: bytes, chunkSize: 1 + Int(start[0])), "the chunks made other units")
    precondition(whole == accessUnits(of: bytes, chunkSize: 1))
    precondition(whole.units.reduce(0) { $0 + $1.count } + Int(whole.discarded) == bytes.count, "bytes are missing")
    for unit in whole.units { unit.withUnsafeBytes(convert) }
    readLengths(bytes)
    readParameterSets(bytes)
    return 0
}

private struct Outcome: Equatable {
    var units: [[UInt8]] = []
    var discarded: UInt64 = 0
}

private func accessUnits(of bytes: UnsafeRawBufferPointer, chunkSize: Int) -> Outcome {
    var parser = AccessUnitParser()
    var outcome = Outcome()
    for index in stride(from: 0, to: bytes.count, by: chunkSize) {
        let end = min(index + chunkSize, bytes.count)
        parser.append(UnsafeRawBufferPointer(rebasing: bytes[index..<end])) { outcome.units.append(Array($0.bytes)) }
    }
    parser.flush { outcome.units.append(Array($0.bytes)) }
    outcome.discarded = parser.discardedByteCount
    return outcome
}

/// To lengths and back.
private func convert(_ annexB: UnsafeRawBufferPointer) {
    let units = AnnexB.units(in: annexB).map { Array($0.bytes) }.filter { $0[0] & 31 != 9 }
    var prefixed: [UInt8] = []
    LengthPrefixed.append(annexB: annexB, to: &prefixed)
    var again: [UInt8] = []
    guard (try? prefixed.withUnsafeBytes { try AnnexB.append(lengthPrefixed: $0, to: &again) }) != nil else {
        fatalError("what was written is not read")
    }
    again.withUnsafeBytes { bytes in
        precondition(AnnexB.units(in: bytes).map { Array($0.bytes) } == units, "a NAL unit was lost")
    }
}

private func readLengths(_ bytes: UnsafeRawBufferPointer) {
    for size in [1, 2, 4] {
        var units = 0
        try? LengthPrefixed.forEachUnit(in: bytes, lengthSize: size) { _ in units += 1 }
        var stream: [UInt8] = []
        guard (try? AnnexB.append(lengthPrefixed: bytes, lengthSize: size, to: &stream)) != nil else { continue }
        // Units of zeros only are none.
        precondition(stream.withUnsafeBytes { AnnexB.units(in: $0).reduce(0) { count, _ in count + 1 } } <= units)
    }
}

private func readParameterSets(_ bytes: UnsafeRawBufferPointer) {
    if let configuration = try? AVCDecoderConfiguration(parsing: bytes) {
        let written = configuration.bytes
        guard let again = try? written.withUnsafeBytes({ try AVCDecoderConfiguration(parsing: $0) }) else {
            fatalError("an avcC that was written is not read")
        }
        precondition(again.sequenceParameterSets == configuration.sequenceParameterSets)
    }
    guard let unit = NALUnit(bytes), let set = try? SequenceParameterSet(unit) else { return }
    precondition(set.width > 0 && set.height > 0)
    _ = set.frameRate
    let usability = set.videoUsability ?? SequenceParameterSet.VideoUsability()
    set.replacingVideoUsability(of: unit, with: usability).withUnsafeBytes { written in
        guard let again = try? SequenceParameterSet(NALUnit(written)!) else {
            fatalError("an SPS that was written is not read")
        }
        precondition((again.width, again.height) == (set.width, set.height))
        precondition(again.videoUsability?.timing == usability.timing)
        precondition(again.videoUsability?.restriction == usability.restriction)
    }
}
