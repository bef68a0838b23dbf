import H264Bitstream
import MediaContainers
import PacketCapturing
import VideoCapturing

/// The access units of H.264 as they arrive: puts those together that a sender has split, and finds the gaps.
struct LivePictures {
    private let pool: PacketBufferPool
    private var tracker = FrameNumberTracker()
    /// A key frame, until it is known whether the next packet continues it.
    private var held: MediaPacket?

    /// Whether the stream states no times, so that pictures must come in the order in which they are shown.
    private let isUntimed: Bool

    init(_ pool: PacketBufferPool, isUntimed: Bool) {
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
        if let first = held, continues(packet, first) {
            var bytes = first.data.withUnsafeBytes { Array($0) }
            packet.data.withUnsafeBytes { data in
                for unit in AnnexB.units(in: data) where unit.type.isSlice { AnnexB.append(unit, to: &bytes) }
            }
            held?.data = bytes.withUnsafeBytes { pool.makeBuffer(copying: $0) }
            return (nil, nil, 0)
        }
        let picture = packet.data.withUnsafeBytes { tracker.add($0) }
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

    /// The key frame that is held, at the end of the stream.
    mutating func flush() -> MediaPacket? { held.take() }

    /// Whether a packet begins within the picture of `first`.
    private func continues(_ packet: MediaPacket, _ first: MediaPacket) -> Bool {
        let kind = first.data.withUnsafeBytes { bytes in AnnexB.units(in: bytes).first { $0.type.isSlice }?.type }
        return packet.data.withUnsafeBytes { bytes in
            let slice = AnnexB.units(in: bytes).first { $0.type.isSlice }
            return slice.map { !$0.beginsPicture && $0.type == kind } ?? false
        }
    }
}
