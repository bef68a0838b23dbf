import H264Bitstream
import MediaContainers
import PacketCapturing
import VideoCapturing

/// The access units of H.264 and H.265 as they arrive: puts those together that a sender has split, and of H.264 finds the gaps.
struct LivePictures {
    private let isH264: Bool
    private let pool: PacketBufferPool
    private var tracker = FrameNumberTracker()
    /// A key frame, until it is known whether the next packet continues it.
    private var held: MediaPacket?
    /// Units that came without a picture, as when a connection ends between a picture's parameter sets and its slices.
    private var beginning: [UInt8] = []

    /// The most bytes of these, which a sender may repeat without an end.
    private static let beginningLimit = 65536

    /// Whether the stream states no times, so that pictures must come in the order in which they are shown.
    private let isUntimed: Bool

    /// - Parameter codec: H.264, or `hevc`.
    init(_ codec: Codec, _ pool: PacketBufferPool, isUntimed: Bool) {
        isH264 = codec == .h264
        self.pool = pool
        self.isUntimed = isUntimed
    }

    /// Takes a packet.
    ///
    /// Some senders repeat the parameter sets before each slice of a key frame, as GStreamer's RTP payloader does with
    /// `config-interval=-1`, and the library takes each of them for a picture.
    ///
    /// - Returns: the key frame before it where that is whole now; itself, unless it is held; and how many frames are missing
    ///   between them.
    /// - Throws: `formatUnsupported` when the pictures are out of order, and have no times.
    mutating func add(
        _ packet: MediaPacket
    ) throws(MediaFileError) -> (before: MediaPacket?, packet: MediaPacket?, missing: Int) {
        if let first = held, continues(packet) {
            beginning = []
            var bytes = first.data.withUnsafeBytes { Array($0) }
            packet.data.withUnsafeBytes { data in
                for unit in AnnexB.units(in: data) where unit.type.isSlice { AnnexB.append(unit, to: &bytes) }
            }
            held?.data = bytes.withUnsafeBytes { pool.makeBuffer(copying: $0) }
            return (nil, nil, 0)
        }
        var packet = packet
        if !beginning.isEmpty {
            let bytes = beginning + packet.data.withUnsafeBytes { Array($0) }
            packet.data = bytes.withUnsafeBytes { pool.makeBuffer(copying: $0) }
            beginning = []
        }
        let picture = isH264 ? packet.data.withUnsafeBytes { tracker.add($0) } : nil
        guard picture != nil || hasPicture(packet) else {
            let isShort = packet.data.count <= LivePictures.beginningLimit
            beginning = isShort ? packet.data.withUnsafeBytes { Array($0) } : []
            return (nil, nil, 0)
        }
        guard isH264 else { return (nil, packet, 0) }
        if isUntimed, (picture?.reorderedFrames ?? 0) > 0 || statesReordering(packet) {
            throw .unsupported(
                "",
                "The stream does not say when its pictures are shown, and they are out of order (B-frames), so its packets "
                    + "cannot be passed on; send it in Matroska or MPEG-TS, or without B-frames.")
        }
        let missing = picture?.lostFrames ?? 0
        let before = held.take()
        if packet.isKeyFrame { held = packet }
        return (before, packet.isKeyFrame ? nil : packet, missing)
    }

    /// Whether parameter sets of a packet state that pictures may be out of order.
    private func statesReordering(_ packet: MediaPacket) -> Bool {
        guard packet.isKeyFrame else { return false }
        return packet.data.withUnsafeBytes { bytes in
            for unit in AnnexB.units(in: bytes) where unit.type == .sps {
                let stated = (try? SequenceParameterSet(unit))?.videoUsability?.restriction?.reorderedFrameCount ?? 0
                if stated > 0 { return true }
            }
            return false
        }
    }

    /// The key frame that is held, at the end of the stream; nil where more of it was to come.
    mutating func flush() -> MediaPacket? {
        defer { beginning = [] }
        return beginning.isEmpty ? held.take() : nil
    }

    /// Whether a packet has a slice; true also for one without any unit, which is not ours to judge.
    private func hasPicture(_ packet: MediaPacket) -> Bool {
        packet.data.withUnsafeBytes { bytes in
            var isEmpty = true
            for unit in AnnexB.units(in: bytes) {
                // Of H.265, the kinds below 32 are slices (ITU-T H.265, table 7-1).
                if isH264 ? unit.type.isSlice : unit.bytes[0] >> 1 & 0x3F < 32 { return true }
                isEmpty = false
            }
            return isEmpty
        }
    }

    /// Whether a packet begins within a picture.
    private func continues(_ packet: MediaPacket) -> Bool {
        packet.data.withUnsafeBytes { bytes in
            for unit in AnnexB.units(in: bytes) where unit.type.isSlice { return !unit.beginsPicture }
            return false
        }
    }
}
