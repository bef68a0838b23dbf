import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file that keeps a token of the desktop portal, which only its owner can read. The newest writer wins.
struct ConsentFile {
    private let path: String
    /// More is no token.
    private static let maximumLength = 1000

    init(_ path: String) { self.path = path }

    /// The token; nil without one.
    func load() -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: ConsentFile.maximumLength)
        let count = read(file, &bytes, bytes.count)
        guard count > 0, count < bytes.count else { return nil }
        let token = String(decoding: bytes[..<count], as: UTF8.self)
        // What the bus would end the connection for.
        return token.utf8.allSatisfy { 0x21...0x7E ~= $0 } ? token : nil
    }

    /// Stores a token in place of the old one.
    ///
    /// - Returns: why that failed; nil when it is stored.
    func store(_ token: String) -> String? {
        for end in path.indices.dropFirst() where path[end] == "/" { mkdir(String(path[..<end]), 0o700) }
        var temporary = Array("\(path).XXXXXX".utf8CString)
        // With mode 600.
        let file = mkstemp(&temporary)
        guard file >= 0 else { return reason() }
        let bytes = Array(token.utf8)
        let isWritten = write(file, bytes, bytes.count) == bytes.count
        if close(file) == 0, isWritten, rename(temporary, path) == 0 { return nil }
        let failure = reason()
        unlink(temporary)
        return failure
    }

    private func reason() -> String { "\(path): \(String(cString: strerror(errno)))" }
}
