import Digests
import VideoCapturing

/// The MD5 of the samples of all frames without padding, independent of their strides: the line that `ffmpeg -f md5`
/// prints for raw video.
package final class MD5Writer: FrameWriter {
    private let report: MD5Report

    /// Creates a writer.
    ///
    /// - Parameter file: the output to which ``finish()`` writes the line `MD5=…`; nil for only ``digest``.
    package init(_ file: OutputFile? = nil) {
        report = MD5Report(file)
    }

    /// The 32 hexadecimal digits, in lower case; nil until ``finish()``.
    package var digest: String? { report.digest }

    /// The bytes that were added.
    package var bytesWritten: Int64 { report.byteCount }

    package func writeFrame(_ frame: VideoFrame) { report.add(frame.buffer) }

    package func finish() throws { try report.finish() }
}

/// The MD5 of the bytes of all packets, without timestamps or framing.
package final class MD5PacketWriter: PacketWriter {
    private let report: MD5Report

    /// Creates a writer.
    ///
    /// - Parameter file: the output to which ``finish()`` writes the line `MD5=…`; nil for only ``digest``.
    package init(_ file: OutputFile? = nil) {
        report = MD5Report(file)
    }

    /// The 32 hexadecimal digits, in lower case; nil until ``finish()``.
    package var digest: String? { report.digest }

    /// The bytes that were added.
    package var bytesWritten: Int64 { report.byteCount }

    /// Accepts tracks of any codec.
    package func begin(_ tracks: [TrackDescription]) {}

    package func write(_ packet: MediaPacket) { report.add(packet.data) }

    package func finish() throws { try report.finish() }
}

/// A checksum and the file it is reported to, shared by the MD5 writers.
private final class MD5Report: Sendable {
    private let file: OutputFile?
    private let state = Locked(State())

    private struct State {
        var md5 = MD5()
        var bytes: Int64 = 0
        var digest: String?
    }

    init(_ file: OutputFile?) {
        self.file = file
    }

    /// The checksum; nil until ``finish()``.
    var digest: String? { state.withLock { $0.digest } }
    /// The bytes that were added.
    var byteCount: Int64 { state.withLock { $0.bytes } }

    func add(_ buffer: PixelBuffer) {
        state.withLock { state in
            buffer.forEachSpan { bytes in
                state.md5.update(bytes)
                state.bytes += Int64(bytes.count)
            }
        }
    }

    func add(_ buffer: PacketBuffer) {
        state.withLock { state in
            buffer.withUnsafeBytes { bytes in
                state.md5.update(bytes)
                state.bytes += Int64(bytes.count)
            }
        }
    }

    func finish() throws(MediaFileError) {
        let digest = state.withLock { state -> String? in
            guard state.digest == nil else { return nil }
            state.digest = state.md5.hexDigest
            return state.digest
        }
        guard let digest, let file else { return }
        var line = ByteBuilder(capacity: 40)
        line.append(text: "MD5=\(digest)\n")
        try file.write(line)
        try file.close()
    }
}
