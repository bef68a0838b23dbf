import H264Bitstream
import VideoCapturing

/// What a decoder needs of a track of pictures, by its key frames: a camera that was exchanged, or a sender that has returned,
/// may have another size or other parameter sets.
struct PictureParameters {
    private var size: PixelSize?
    private var sets: [UInt8] = []

    /// Takes a key frame.
    ///
    /// - Parameter track: gets the size and the configuration of the key frame, where they differ from those before.
    /// - Returns: whether they differ; false for the first one.
    mutating func learn(_ packet: MediaPacket, _ track: inout TrackDescription) -> Bool {
        let configuration =
            track.codec == .h264 ? packet.data.withUnsafeBytes { try? AVCDecoderConfiguration(annexB: $0) } : nil
        let sets = configuration?.sequenceParameterSets.flatMap(\.self) ?? sets
        let stated = configuration?.parameters.map { PixelSize(width: $0.width, height: $0.height) }
        let size = stated ?? (packet.width > 0 ? PixelSize(width: packet.width, height: packet.height) : self.size)
        defer { (self.size, self.sets) = (size, sets) }
        guard let size, let earlier = self.size, size != earlier || sets != self.sets else { return false }
        if case .video(var video) = track.media {
            (video.width, video.height) = (size.width, size.height)
            track.media = .video(video)
        }
        if let configuration {
            track.decoderConfiguration = configuration.bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
        }
        return true
    }
}
