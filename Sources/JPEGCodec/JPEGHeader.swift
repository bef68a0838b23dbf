import VideoCapturing

/// What the head of a JPEG picture says.
public struct JPEGHeader: Sendable, Hashable {
    public var width: Int
    public var height: Int

    public init(_ jpeg: UnsafeRawBufferPointer) throws(CodecError) { fatalError() }
}
