/// Turns packets into pictures. Not to be used from two threads at once.
public protocol VideoDecoder: AnyObject {
    /// Decodes one packet and hands each picture that comes of it to `output`, before it returns: mostly
    /// one, none for a packet that is not to be shown.
    ///
    /// - Throws: `CodecError` with the code `corruptData` for damaged bytes; the next key frame decodes
    ///   again.
    func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws
}

/// A way to make decoders of one codec: how a program gives a reader the codecs it links, without a
/// registry and without making every reader link every codec.
public struct VideoDecoderFactory: Sendable {
    /// The codec's four-character code, as in `VP80`.
    public let fourCC: FourCC
    /// Makes a decoder. Throws `CodecError`.
    public let makeDecoder: @Sendable () throws -> any VideoDecoder

    public init(fourCC: FourCC, makeDecoder: @escaping @Sendable () throws -> any VideoDecoder) {
        self.fourCC = fourCC
        self.makeDecoder = makeDecoder
    }
}
