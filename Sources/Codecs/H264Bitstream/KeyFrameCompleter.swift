public import CaptureCore

/// Puts the parameter sets before key frames that come without them: for encoders that state them only once, or in a
/// packet of their own. Not to be used from two threads at once.
public struct KeyFrameCompleter {
    /// The parameter sets of the last packet that had them; nil before.
    public private(set) var parameterSets: AVCDecoderConfiguration?

    private var scratch: [UInt8] = []

    /// A completer without parameter sets.
    public init() {}

    /// The kind of a packet's first slice. A packet without one has only parameter sets and the like, which are kept.
    ///
    /// - Parameter bytes: a byte stream (annex B).
    /// - Returns: nil without a slice.
    public mutating func slice(in bytes: UnsafeRawBufferPointer) -> NALUnit.Kind? {
        for unit in AnnexB.units(in: bytes) where unit.type.isSlice { return unit.type }
        keepSets(of: bytes)
        return nil
    }

    /// A key frame's packet with its parameter sets.
    ///
    /// - Parameters:
    ///   - bytes: a byte stream (annex B).
    ///   - packets: makes the packet's buffer.
    public mutating func complete(_ bytes: UnsafeRawBufferPointer, _ packets: PacketBufferPool) -> PacketBuffer {
        if keepSets(of: bytes) { return packets.makeBuffer(copying: bytes) }
        scratch.removeAll(keepingCapacity: true)
        scratch.append(contentsOf: parameterSets?.annexB ?? [])
        scratch.append(contentsOf: bytes)
        return scratch.withUnsafeBytes { packets.makeBuffer(copying: $0) }
    }

    /// Keeps the parameter sets of a packet; false when it has none of both kinds.
    @discardableResult
    private mutating func keepSets(of bytes: UnsafeRawBufferPointer) -> Bool {
        guard let found = try? AVCDecoderConfiguration(annexB: bytes), !found.pictureParameterSets.isEmpty else {
            return false
        }
        parameterSets = found
        return true
    }
}
