/// One NAL unit (ITU-T H.264, 7.3.1) in the caller's memory: its header byte and its payload with the emulation
/// prevention bytes, without a start code or a length.
///
/// Valid as long as the memory it was found in.
public struct NALUnit {
    /// Header and payload; at least one byte.
    public let bytes: UnsafeRawBufferPointer

    /// The unit in `bytes`; nil without a byte.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return nil }
        self.bytes = bytes
    }

    /// What the unit contains (nal_unit_type, table 7-1).
    public var type: Kind { Kind(header: bytes[0]) }

    /// Whether other pictures may refer to the content (nal_ref_idc other than 0).
    public var isReference: Bool { bytes[0] & 0x60 != 0 }

    /// Whether this slice is the first of its picture (first_mb_in_slice is 0); false for units that are not slices.
    public var beginsPicture: Bool { type.isSlice && bytes.count > 1 && bytes[1] & 0x80 != 0 }

    /// A kind of NAL unit, by its number in table 7-1.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The number, 0 to 31.
        public let rawValue: UInt8

        /// The kind of a number, of which five bits count.
        public init(rawValue: UInt8) { self.rawValue = rawValue & 0x1F }

        /// The kind that the first byte of a unit states.
        public init(header: UInt8) { self.init(rawValue: header) }

        /// A slice of a picture that is not an IDR picture.
        public static let slice = Kind(rawValue: 1)
        /// The first partition of a slice whose data are partitioned.
        public static let partitionA = Kind(rawValue: 2)
        /// A slice of an IDR picture, at which decoding can begin.
        public static let idrSlice = Kind(rawValue: 5)
        /// Supplemental enhancement information.
        public static let sei = Kind(rawValue: 6)
        /// A sequence parameter set.
        public static let sps = Kind(rawValue: 7)
        /// A picture parameter set.
        public static let pps = Kind(rawValue: 8)
        /// An access unit delimiter.
        public static let delimiter = Kind(rawValue: 9)
        /// Padding.
        public static let filler = Kind(rawValue: 12)
        /// An extension of a sequence parameter set.
        public static let spsExtension = Kind(rawValue: 13)
        /// The prefix of the slice that follows, of scalable streams.
        public static let prefix = Kind(rawValue: 14)

        /// Whether it is a slice of a primary picture, or the first partition of one.
        public var isSlice: Bool { self == .slice || self == .idrSlice || self == .partitionA }

        /// Whether it begins an access unit where it follows a slice (7.4.1.2.3); a prefix belongs to its slice.
        var beginsAccessUnit: Bool { (6...9).contains(rawValue) || (15...18).contains(rawValue) }
    }
}
