/// Finds where decoding of a stream can begin, and counts the frames that are missing, by the numbers that its slices carry
/// (frame_num; ITU-T H.264, 7.4.3).
///
/// Only frames that others refer to have a number of their own; a lost one that none refers to is not seen.
package struct FrameNumberTracker {
    /// A picture by the header of its first slice, and the SEI messages before it.
    package struct Picture: Equatable {
        /// Whether it is an IDR picture: neither it nor a later one refers to a picture before it.
        package var isIDR = false
        /// Whether decoding can begin here: at an IDR picture, at a recovery point, or, in streams that have shown neither,
        /// at a picture that refers to no other; also where no later picture can refer to earlier ones.
        package var isEntry = false
        /// How many frames after an entry are not whole yet, by its recovery point.
        package var recoveryFrames = 0
        /// Whether it is the second field of a frame.
        package var isSecondField = false
        /// The number of frames that are missing before it; 0 before the first entry.
        package var lostFrames = 0
        /// How many frames are probably held back from here on to be put in order, where the stream does not state it: as
        /// many as a pyramid of the frames needs that precede this one in output and are still to come.
        package var reorderedFrames = 0
    }

    /// By the identifiers of parameter sets, which are bounded.
    private var sequences = [SequenceParameterSet?](repeating: nil, count: 32)
    private var pictures = [PictureParameterSet?](repeating: nil, count: 256)
    /// The number of the last frame that others may refer to; nil before the first entry.
    private var last: Int?
    /// The last picture, if it was the first field of a frame.
    private var firstField: SliceHeader?
    private var hasRecoveryPoints = false
    private var hasIDR = false
    /// The order in output of the last one of the frames so far.
    private var lastOrder: Int?

    package init() {}

    /// The next frame's number is not known, as after a decoder's restart.
    package mutating func reset() {
        last = nil
        firstField = nil
        lastOrder = nil
        hasIDR = false
    }

    /// Takes a unit's parameter sets, and its first slice.
    ///
    /// - Parameter annexB: one access unit.
    /// - Returns: its picture; nil without a slice whose parameter sets are known.
    package mutating func add(_ annexB: UnsafeRawBufferPointer) -> Picture? {
        var recoveryFrames: Int?
        for unit in AnnexB.units(in: annexB) {
            switch unit.type {
            case .sps:
                if let set = try? SequenceParameterSet(unit) { sequences[set.identifier] = set }
            case .pps:
                if let set = PictureParameterSet(unit) { pictures[set.identifier] = set }
            case .sei: recoveryFrames = RecoveryPoint.frameCount(unit) ?? recoveryFrames
            case let kind where kind.isSlice:
                if recoveryFrames != nil { hasRecoveryPoints = true }
                return addSlice(unit, in: annexB, recoveryFrames)
            default: continue
            }
        }
        return nil
    }

    private mutating func addSlice(
        _ unit: NALUnit, in annexB: UnsafeRawBufferPointer, _ recoveryFrames: Int?
    ) -> Picture? {
        guard let named = SliceHeader.look(at: unit), let pictureSet = pictures[named.pictureSet],
            let set = sequences[pictureSet.sequence], let slice = SliceHeader(unit, set, pictureSet)
        else { return nil }
        let size = 1 << set.frameNumberBits
        let number = slice.frameNumber
        var picture = Picture(isIDR: unit.type == .idrSlice)
        if let first = firstField, slice.isField, first.isBottomField != slice.isBottomField,
            first.frameNumber == number
        {
            picture.isSecondField = true
        }
        firstField = slice.isField && !picture.isSecondField ? slice : nil
        picture.recoveryFrames = picture.isIDR ? 0 : recoveryFrames ?? 0
        if picture.isIDR { hasIDR = true }
        let mayBeginAtIntra = !hasRecoveryPoints && (!hasIDR || set.referenceFrameCount <= 1)
        picture.isEntry =
            picture.isIDR || recoveryFrames != nil || mayBeginAtIntra && slice.kind.isIntra && isIntra(annexB)
        if let last, !picture.isIDR {
            let step = (number - last) & (size - 1)
            // The same number again is a second field's. A frame that none refers to leaves its number to the next one.
            if step > 1, !set.allowsFrameNumberGaps { picture.lostFrames = step - 1 }
            if step > 0 { self.last = unit.isReference ? number : (number - 1) & (size - 1) }
        } else if picture.isEntry {
            last = number
        }
        picture.reorderedFrames = picture.lostFrames > 0 ? 0 : reorderedFrames(slice, set, isIDR: picture.isIDR)
        if slice.resetsNumbers {
            if last != nil { last = 0 }
            lastOrder = nil
        }
        return picture
    }

    /// By the gap in the order of output, in which frames are two apart.
    private mutating func reorderedFrames(_ slice: SliceHeader, _ set: SequenceParameterSet, isIDR: Bool) -> Int {
        guard let order = slice.order, !slice.isField else {
            lastOrder = nil
            return 0
        }
        guard let last = lastOrder, !isIDR else {
            lastOrder = order
            return 0
        }
        let size = 1 << set.pictureOrder.bits
        let step = (order - last) & (size - 1)
        guard step < size / 2 else { return 0 }
        lastOrder = order
        // Baseline has no B slices.
        guard set.profile != 66, set.videoUsability?.restriction == nil else { return 0 }
        let missing = max(0, step / 2 - 1)
        return Int.bitWidth - missing.leadingZeroBitCount
    }

    /// Whether no slice refers to another picture.
    private func isIntra(_ annexB: UnsafeRawBufferPointer) -> Bool {
        for unit in AnnexB.units(in: annexB) where unit.type.isSlice {
            guard SliceHeader.look(at: unit)?.kind.isIntra == true else { return false }
        }
        return true
    }
}

/// The SEI message from which on a stream can be decoded that has no IDR picture there (ITU-T H.264, D.1.8).
private enum RecoveryPoint {
    /// recovery_frame_cnt of an SEI unit: after how many frames all is whole; nil without such a message.
    static func frameCount(_ unit: NALUnit) -> Int? {
        var reader = BitReader(unit.bytes)
        while reader.isValid {
            let (kind, size) = (readNumber(&reader), readNumber(&reader))
            guard reader.isValid, size <= unit.bytes.count else { return nil }
            if kind == 6 {
                let count = reader.readUnsigned(atMost: 65_535)
                return reader.isValid ? count : nil
            }
            for _ in 0..<size { _ = reader.read(8) }
        }
        return nil
    }

    /// 7.3.2.3.1
    private static func readNumber(_ reader: inout BitReader) -> Int {
        var number = 0
        while reader.isValid {
            let byte = Int(reader.read(8))
            number += byte
            if byte != 0xFF { break }
        }
        return number
    }
}
