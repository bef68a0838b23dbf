import Digests
import VideoCapturing

/// A checksum in the making, and the file it is reported to: what the MD5 writers have in common.
final class MD5Report: Sendable {
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
    /// The bytes that went in.
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
