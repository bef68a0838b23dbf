/// Counts the frames that are missing in a stream, by the numbers that its slices carry (frame_num; ITU-T H.264, 7.4.3).
///
/// Only frames that others refer to have a number of their own; a lost one that none refers to is not seen.
package struct FrameNumberTracker {
    /// A picture by the header of its first slice.
    package struct Picture: Equatable {
        /// Whether decoding can begin here.
        package var isIDR: Bool
        /// The number of frames that are missing before it; 0 before the first IDR picture.
        package var lostFrames: Int
    }

    private struct Numbering {
        var bits: Int
        var hasSeparateColorPlanes: Bool
        var allowsGaps: Bool
    }

    /// By the identifiers of parameter sets, which are bounded.
    private var sequences = [Numbering?](repeating: nil, count: 32)
    private var pictures = [UInt8?](repeating: nil, count: 256)
    /// The number of the last frame that others may refer to; nil before the first IDR picture.
    private var last: Int?

    package init() {}

    /// The next frame's number is not known, as after a decoder's restart.
    package mutating func reset() { last = nil }

    /// Takes a unit's parameter sets, and its first slice.
    ///
    /// - Parameter annexB: one access unit.
    /// - Returns: its picture; nil without a slice whose parameter sets are known.
    package mutating func add(_ annexB: UnsafeRawBufferPointer) -> Picture? {
        for unit in AnnexB.units(in: annexB) {
            switch unit.type {
            case .sps:
                guard let set = try? SequenceParameterSet(unit) else { continue }
                sequences[set.identifier] = Numbering(
                    bits: set.frameNumberBits, hasSeparateColorPlanes: set.hasSeparateColorPlanes,
                    allowsGaps: set.allowsFrameNumberGaps)
            case .pps:
                var reader = BitReader(unit.bytes)
                let picture = reader.readUnsigned(atMost: 255)
                let sequence = reader.readUnsigned(atMost: 31)
                if reader.isValid { pictures[picture] = UInt8(sequence) }
            case let kind where kind.isSlice: return addSlice(unit)
            default: continue
            }
        }
        return nil
    }

    private mutating func addSlice(_ unit: NALUnit) -> Picture? {
        // 7.3.3
        var reader = BitReader(unit.bytes)
        _ = reader.readUnsigned()
        _ = reader.readUnsigned()
        let picture = reader.readUnsigned(atMost: 255)
        guard reader.isValid, let sequence = pictures[picture], let numbering = sequences[Int(sequence)] else {
            return nil
        }
        if numbering.hasSeparateColorPlanes { _ = reader.read(2) }
        let number = Int(reader.read(numbering.bits))
        guard reader.isValid else { return nil }
        let isIDR = unit.type == .idrSlice
        var lost = 0
        if let last, !isIDR {
            let step = (number - last) & (1 << numbering.bits - 1)
            // The same number again is a second field's. A frame that none refers to leaves its number to the next one.
            if step > 1, !numbering.allowsGaps { lost = step - 1 }
            if step > 0 { self.last = unit.isReference ? number : (number - 1) & (1 << numbering.bits - 1) }
        } else if isIDR {
            last = number
        }
        return Picture(isIDR: isIDR, lostFrames: lost)
    }
}
