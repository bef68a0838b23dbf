/// Encoded data of one track with its times: one picture of video, or some samples of sound.
///
/// A value that holds one reference to its bytes. To keep a packet is to keep the value.
public struct MediaPacket: AttributedFrame {
    /// The encoded bytes.
    public var data: PacketBuffer
    /// The track it belongs to.
    public var track: TrackID
    /// When the picture or the first sample was captured, on the monotonic clock: the presentation time.
    public var timestamp: MediaTime
    /// The decoding time, if pictures are reordered; nil for ``timestamp``.
    public var decodeTimestamp: MediaTime?
    /// The duration of its presentation, as far as known when it is encoded: a frame's interval.
    public var duration: Duration
    /// Whether decoding can begin here.
    public var isKeyFrame: Bool
    /// Whether no later packet needs this one, so that it can be left out without harm.
    public var isDroppable: Bool
    /// The temporal layer, 0 for the base.
    public var temporalLayer: Int
    /// The width of the encoded picture in pixels, before the orientation is applied; 0 for sound.
    public var width: Int
    /// The height of the encoded picture in pixels, before the orientation is applied; 0 for sound.
    public var height: Int
    /// The number of the frame that was encoded; it skips by the number of lost frames.
    public var sequenceNumber: UInt64
    /// What the capture knew of the frame.
    public var attributes: FrameAttributes
}

extension MediaPacket {
    // In an extension, so that there is a derived initializer: see the one of `VideoFrame`.
    /// A packet; see the properties.
    public init(
        data: PacketBuffer, track: TrackID = 0, timestamp: MediaTime, duration: Duration = .zero,
        isKeyFrame: Bool = true, isDroppable: Bool = false, temporalLayer: Int = 0, width: Int = 0, height: Int = 0,
        sequenceNumber: UInt64 = 0, attributes: FrameAttributes = FrameAttributes()
    ) {
        self.init(
            data: data, track: track, timestamp: timestamp, decodeTimestamp: nil, duration: duration,
            isKeyFrame: isKeyFrame, isDroppable: isDroppable, temporalLayer: temporalLayer, width: width,
            height: height, sequenceNumber: sequenceNumber, attributes: attributes)
    }
}
