/// Turns sound into packets. Not to be used from two threads at once.
public protocol AudioEncoder: AnyObject {
    /// Describes the track that the packets belong to; nil until the first packet is handed out.
    var track: TrackDescription? { get }

    /// Encodes one chunk and hands each packet that results to `output`, before it returns: any number, none while
    /// a packet's samples are not complete.
    ///
    /// A packet's timestamp is the time at the microphone of its first sample, and its sequence number counts packets. How
    /// a discontinuity is bridged (silence, a new beginning) is the encoder's to decide and to state.
    ///
    /// - Parameters:
    ///   - chunk: the sound; its buffer may be kept, as chunks are immutable.
    ///   - output: takes each packet.
    /// - Throws: `CodecError`, and what `output` throws.
    func encode(_ chunk: AudioChunk, output: (MediaPacket) throws -> Void) throws

    /// Aims at a bitrate from the next packet on. The default ignores it.
    ///
    /// - Parameter bitrate: in bits per second.
    /// - Throws: `CodecError` with the code `invalidConfiguration` for one that is out of range.
    func setBitrate(_ bitrate: Int) throws

    /// Hands out what the encoder still holds back, padded with silence where packets have a fixed length. Chunks may
    /// follow.
    ///
    /// - Parameter output: takes each packet.
    /// - Throws: `CodecError`, and what `output` throws.
    func flush(output: (MediaPacket) throws -> Void) throws
}

extension AudioEncoder {
    /// Ignores the bitrate.
    public func setBitrate(_ bitrate: Int) {}
    /// Nothing is held back.
    public func flush(output: (MediaPacket) throws -> Void) throws {}
}
