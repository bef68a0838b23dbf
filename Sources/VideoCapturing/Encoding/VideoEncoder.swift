/// Turns frames into packets. Not to be used from two threads at once.
public protocol VideoEncoder: AnyObject {
    /// Encodes one frame and hands each packet that comes of it to `output`, before it returns: mostly one,
    /// none when the encoder decides to drop the frame, or when the frame shows nothing new.
    ///
    /// The frame may have another size than the one before.
    ///
    /// - Parameters:
    ///   - frame: the picture; not kept.
    ///   - forceKeyFrame: whether decoding must be able to begin with this frame.
    ///   - output: takes each packet; what it throws is thrown on.
    func encode(
        _ frame: VideoFrame, forceKeyFrame: Bool, output: (EncodedPacket) throws -> Void
    ) throws

    /// Frames without a packet because they showed nothing new.
    var framesUnchanged: UInt64 { get }

    /// Hands out what the encoder still holds back. Frames may follow.
    func flush(output: (EncodedPacket) throws -> Void) throws
}

extension VideoEncoder {
    /// None: every frame counts as new.
    public var framesUnchanged: UInt64 { 0 }
}
