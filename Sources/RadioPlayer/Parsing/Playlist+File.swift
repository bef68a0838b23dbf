import AudioCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Playlist {
    /// Whether it is the path of a playlist, and no address.
    package static func isPath(_ text: String) -> Bool {
        guard !text.contains("://") else { return false }
        let name = text.lowercased()
        return [".pls", ".m3u", ".m3u8"].contains { name.hasSuffix($0) }
    }

    /// Reads a playlist that was saved.
    ///
    /// - Parameter path: the path of a file.
    /// - Throws: `streamNotFound` for a file that cannot be read, and the errors of the playlist.
    package init(ofFile path: String) throws(RadioError) {
        guard let bytes = readFile(path, atMost: Playlist.maximumBytes + 1) else {
            throw RadioError(
                .streamNotFound, operation: "read the playlist", subject: path, errno: errno,
                message: "The file cannot be read; check its name and its rights.")
        }
        let kind = bytes.withUnsafeBytes { Playlist.kind(contentType: "", url: path, body: $0) }
        let isPLS = kind == .pls || kind == nil && path.lowercased().hasSuffix(".pls")
        try self.init(bytes, kind: isPLS ? .pls : .m3u, base: nil, name: path)
    }
}

/// The bytes of a regular file; nil for any other file, with the system's error.
private func readFile(_ path: String, atMost limit: Int) -> [UInt8]? {
    // A FIFO would be waited for.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    return try? [UInt8](unsafeUninitializedCapacity: limit) { memory, filled in
        while filled < limit {
            let count = read(file, memory.baseAddress! + filled, limit - filled)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CancellationError() }
            guard count > 0 else { return }
            filled += count
        }
    }
}
