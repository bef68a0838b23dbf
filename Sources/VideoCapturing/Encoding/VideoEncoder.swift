/// Turns frames into packets. Not to be used from two threads at once.
public protocol VideoEncoder: AnyObject {
    /// Describes the track that the packets belong to; nil until the first packet is handed out.
    var track: TrackDescription? { get }

    /// Encodes one frame and hands each packet that results to `output`, before it returns: mostly one, none when the
    /// encoder decides to drop the frame, or when the frame shows nothing new.
    ///
    /// The frame may have another size than the one before.
    ///
    /// - Parameters:
    ///   - frame: the frame; not kept.
    ///   - output: takes each packet.
    /// - Throws: `CodecError`, and what `output` throws.
    func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws

    /// Makes the next encoded frame a key frame, from which decoding can begin.
    func requestKeyFrame()

    /// Aims at a bitrate from the next frame on.
    ///
    /// - Parameter bitrate: in bits per second.
    /// - Throws: `CodecError` with the code `invalidConfiguration` for one that is out of range.
    func setBitrate(_ bitrate: Int) throws

    /// The bitrate that it aims at, in bits per second; nil for an encoder without one.
    var bitrate: Int? { get }

    /// What the encoder can use at present, as its load asks for; may change with each frame.
    var wants: CaptureWants { get }

    /// The number of frames without a packet because they showed nothing new.
    var framesUnchanged: UInt64 { get }

    /// What happened with the last frames that the user should know, in a sentence; nil when there is nothing new.
    func takeNotice() -> String?

    /// Hands out what the encoder still holds back. Frames may follow.
    func flush(output: (MediaPacket) throws -> Void) throws

    /// Releases what it holds, while nothing takes its packets. The next frame begins again, with a key frame.
    func release()
}

extension VideoEncoder {
    /// Everything.
    public var wants: CaptureWants { CaptureWants() }
    /// None: sinks cannot slow the encoder down.
    public var bitrate: Int? { nil }
    /// None: every frame counts as new.
    public var framesUnchanged: UInt64 { 0 }
    /// Nothing.
    public func takeNotice() -> String? { nil }
    /// Nothing is held back.
    public func flush(output: (MediaPacket) throws -> Void) throws {}
    /// Nothing is released; the next frame is made a key frame.
    public func release() { requestKeyFrame() }
}
