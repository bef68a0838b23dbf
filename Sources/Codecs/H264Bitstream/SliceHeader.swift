/// A picture parameter set (ITU-T H.264, 7.3.2.2), as far as slice headers depend on it.
struct PictureParameterSet: Sendable, Hashable {
    let identifier: Int
    /// The sequence parameter set that it names.
    let sequence: Int
    let hasFieldOrder: Bool
    /// num_ref_idx_default_active of both lists.
    let referenceCounts: [Int]
    let isWeighted: Bool
    let hasExplicitBiprediction: Bool
    let hasRedundantPictures: Bool

    /// Nil when it is cut off or damaged.
    init?(_ unit: NALUnit) {
        var reader = BitReader(unit.bytes)
        identifier = reader.readUnsigned(atMost: 255)
        sequence = reader.readUnsigned(atMost: 31)
        _ = reader.readBit()
        hasFieldOrder = reader.readBit()
        PictureParameterSet.skipSliceGroups(&reader)
        referenceCounts = [reader.readUnsigned(atMost: 31) + 1, reader.readUnsigned(atMost: 31) + 1]
        isWeighted = reader.readBit()
        hasExplicitBiprediction = reader.read(2) == 1
        for _ in 0..<3 { _ = reader.readSigned() }
        _ = reader.read(2)
        hasRedundantPictures = reader.readBit()
        guard reader.isValid else { return nil }
    }

    private static func skipSliceGroups(_ reader: inout BitReader) {
        let groups = reader.readUnsigned(atMost: 7) + 1
        guard groups > 1 else { return }
        switch reader.readUnsigned(atMost: 6) {
        case 0: for _ in 0..<groups { _ = reader.readUnsigned() }
        case 2: for _ in 0..<(groups - 1) * 2 { _ = reader.readUnsigned() }
        case 3...5:
            _ = reader.readBit()
            _ = reader.readUnsigned()
        case 6:
            let bits = groups > 4 ? 3 : groups > 2 ? 2 : 1
            for _ in 0...reader.readUnsigned(atMost: 139_263) where reader.isValid { _ = reader.read(bits) }
        default: break
        }
    }
}

/// The header of a slice (ITU-T H.264, 7.3.3), as far as it says where its picture belongs.
struct SliceHeader {
    enum Kind: Int {
        case p
        case b
        case i
        case sp
        case si
        var isIntra: Bool { self == .i || self == .si }
    }

    let kind: Kind
    /// frame_num.
    let frameNumber: Int
    /// Whether the picture is a field.
    let isField: Bool
    let isBottomField: Bool
    /// pic_order_cnt_lsb, which states the order of output; nil where it is not of type 0.
    let order: Int?
    /// Whether the frames after this one are numbered from 0 on (memory_management_control_operation 5).
    let resetsNumbers: Bool

    /// The identifier of the picture parameter set that a slice names, and its kind; nil when it is cut off.
    static func look(at unit: NALUnit) -> (pictureSet: Int, kind: Kind)? {
        var reader = BitReader(unit.bytes)
        return look(&reader)
    }

    private static func look(_ reader: inout BitReader) -> (pictureSet: Int, kind: Kind)? {
        _ = reader.readUnsigned()
        let kind = Kind(rawValue: reader.readUnsigned(atMost: 9) % 5)
        let pictureSet = reader.readUnsigned(atMost: 255)
        guard reader.isValid, let kind else { return nil }
        return (pictureSet, kind)
    }

    /// Nil when it is cut off before the number.
    init?(_ unit: NALUnit, _ set: SequenceParameterSet, _ pictureSet: PictureParameterSet) {
        var reader = BitReader(unit.bytes)
        guard let (_, kind) = SliceHeader.look(&reader) else { return nil }
        if set.hasSeparateColorPlanes { _ = reader.read(2) }
        frameNumber = Int(reader.read(set.frameNumberBits))
        isField = !set.hasFramesOnly && reader.readBit()
        isBottomField = isField && reader.readBit()
        guard reader.isValid else { return nil }
        self.kind = kind
        if unit.type == .idrSlice { _ = reader.readUnsigned() }
        let order = SliceHeader.readOrder(&reader, set.pictureOrder, hasSecond: pictureSet.hasFieldOrder && !isField)
        self.order = reader.isValid ? order : nil
        guard unit.type != .idrSlice, unit.isReference else {
            resetsNumbers = false
            return
        }
        if pictureSet.hasRedundantPictures { _ = reader.readUnsigned() }
        if kind == .b { _ = reader.readBit() }
        var counts = kind.isIntra ? [] : kind == .b ? pictureSet.referenceCounts : [pictureSet.referenceCounts[0]]
        if !counts.isEmpty, reader.readBit() {
            for list in counts.indices { counts[list] = reader.readUnsigned(atMost: 31) + 1 }
        }
        for _ in counts { SliceHeader.skipModifications(&reader) }
        if kind == .b ? pictureSet.hasExplicitBiprediction : pictureSet.isWeighted && !kind.isIntra {
            let hasColor = set.chromaFormat != 0 && !set.hasSeparateColorPlanes
            SliceHeader.skipWeights(&reader, counts, hasColor: hasColor)
        }
        resetsNumbers = SliceHeader.readMarking(&reader)
    }

    private static func readOrder(_ reader: inout BitReader, _ order: PictureOrder, hasSecond: Bool) -> Int? {
        switch order.type {
        case 0:
            let number = Int(reader.read(order.bits))
            if hasSecond { _ = reader.readSigned() }
            return number
        case 1 where !order.isDeltaAlwaysZero:
            _ = reader.readSigned()
            if hasSecond { _ = reader.readSigned() }
            return nil
        default: return nil
        }
    }

    /// ref_pic_list_modification (7.3.3.1) of one list.
    private static func skipModifications(_ reader: inout BitReader) {
        guard reader.readBit() else { return }
        while reader.isValid, reader.readUnsigned() != 3 { _ = reader.readUnsigned() }
    }

    /// pred_weight_table (7.3.3.2).
    private static func skipWeights(_ reader: inout BitReader, _ counts: [Int], hasColor: Bool) {
        _ = reader.readUnsigned()
        if hasColor { _ = reader.readUnsigned() }
        for count in counts {
            for _ in 0..<count {
                if reader.readBit() { for _ in 0..<2 { _ = reader.readSigned() } }
                if hasColor, reader.readBit() { for _ in 0..<4 { _ = reader.readSigned() } }
            }
        }
    }

    /// dec_ref_pic_marking (7.3.3.3) of a picture that is not an IDR picture. Returns whether operation 5 is there.
    private static func readMarking(_ reader: inout BitReader) -> Bool {
        guard reader.readBit() else { return false }
        while true {
            let operation = reader.readUnsigned()
            guard reader.isValid, operation != 0 else { return false }
            if operation == 5 { return true }
            _ = reader.readUnsigned()
            if operation == 3 { _ = reader.readUnsigned() }
        }
    }
}
