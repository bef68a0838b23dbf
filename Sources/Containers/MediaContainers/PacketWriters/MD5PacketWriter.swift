import VideoCapturing

/// The MD5 of the bytes of all packets, without timestamps or framing.
public final class MD5PacketWriter: PacketWriter {
    private let report: MD5Report

    /// - Parameter file: where ``finish()`` writes the line `MD5=…`; nil to keep only ``digest``.
    public init(_ file: OutputFile? = nil) {
        report = MD5Report(file)
    }

    /// The 32 hexadecimal digits, in lower case; nil until ``finish()``.
    public var digest: String? { report.digest }

    /// The bytes that went in.
    public var bytesWritten: Int64 { report.byteCount }

    /// Takes tracks of any codec.
    public func begin(_ tracks: [TrackDescription]) {}

    public func write(_ packet: MediaPacket) { report.add(packet.data) }

    public func finish() throws { try report.finish() }
}
