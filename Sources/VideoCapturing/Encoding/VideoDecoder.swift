/// Turns packets into pictures. Not to be used from two threads at once.
public protocol VideoDecoder: AnyObject {
    /// Decodes one packet and hands each picture that comes of it to `output`, before it returns: mostly
    /// one, none for a packet that is not to be shown.
    ///
    /// - Throws: `CodecError` with the code `corruptData` for damaged bytes; the next key frame decodes
    ///   again.
    func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws

    /// Decodes one packet as ``decode(_:output:)``, and hands each picture to `output` with the time of its own packet,
    /// which is not always this one: a codec that reorders pictures holds some of them back.
    ///
    /// The default has no such codec in mind.
    ///
    /// - Parameters:
    ///   - packet: the packet.
    ///   - time: any number by which the picture is known again; its order does not matter.
    ///   - output: takes each picture.
    /// - Throws: as ``decode(_:output:)``.
    func decode(
        _ packet: UnsafeRawBufferPointer, time: Duration, output: (PixelBuffer, Duration) throws -> Void
    ) throws

    /// Hands out the pictures that are held back, at the end of the stream; the decoder then begins again. The default has
    /// none.
    ///
    /// - Parameter output: takes each picture with the time of its packet.
    /// - Throws: as ``decode(_:output:)``.
    func flush(output: (PixelBuffer, Duration) throws -> Void) throws

    /// Whether the last picture that was handed out has two fields of different times, whose lines alternate.
    var isInterlaced: Bool { get }
}

extension VideoDecoder {
    public var isInterlaced: Bool { false }

    public func decode(
        _ packet: UnsafeRawBufferPointer, time: Duration, output: (PixelBuffer, Duration) throws -> Void
    ) throws {
        try decode(packet) { picture in try output(picture, time) }
    }

    public func flush(output: (PixelBuffer, Duration) throws -> Void) throws {}
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
