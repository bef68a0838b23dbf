/// One encoded picture and what is known of it: what an encoder hands on.
///
/// A value that holds one reference to its bytes. To keep a packet is to keep the value.
public struct EncodedPacket: Sendable {
    /// The encoded bytes.
    public var data: PacketBuffer
    /// When the picture was taken, on the monotonic clock: the frame's own timestamp, not the encoder's.
    public var timestamp: MediaTime
    /// How long the picture is to be shown, as far as is known when it is encoded: the frame's interval.
    public var duration: Duration
    /// Whether decoding can begin here.
    public var isKeyFrame: Bool
    /// Whether no later picture needs this one, so that it can be left out without harm.
    public var isDroppable: Bool
    /// The temporal layer, 0 for the base.
    public var temporalLayer: Int
    /// The width of the encoded picture in pixels, before the orientation is applied.
    public var width: Int
    /// The height of the encoded picture in pixels, before the orientation is applied.
    public var height: Int
    /// What the capture knew of the frame: sequence number, orientation, colour, rate, metadata.
    public var capture: CaptureInformation

    /// What a packet keeps of the frame it was made from.
    public struct CaptureInformation: Sendable {
        public var sequenceNumber: UInt64
        public var orientation: VideoOrientation
        public var isMirrored: Bool
        public var color: ColorDescription
        public var estimatedFrameRate: FrameRate?
        public var estimatedCaptureDelay: Duration?
        public var metadata: FrameMetadata?

        public init(_ frame: VideoFrame) {
            sequenceNumber = frame.sequenceNumber
            orientation = frame.orientation
            isMirrored = frame.isMirrored
            color = frame.color
            estimatedFrameRate = frame.estimatedFrameRate
            estimatedCaptureDelay = frame.estimatedCaptureDelay
            metadata = frame.metadata
        }
    }

    public init(
        data: PacketBuffer, timestamp: MediaTime, duration: Duration, isKeyFrame: Bool, isDroppable: Bool = false,
        temporalLayer: Int = 0, width: Int, height: Int, capture: CaptureInformation
    ) {
        self.data = data
        self.timestamp = timestamp
        self.duration = duration
        self.isKeyFrame = isKeyFrame
        self.isDroppable = isDroppable
        self.temporalLayer = temporalLayer
        self.width = width
        self.height = height
        self.capture = capture
    }
}
