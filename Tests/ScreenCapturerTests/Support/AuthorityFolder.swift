#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A folder of files as xauth(1) writes them: who may connect to an X server.
final class AuthorityFolder {
    let path: String
    private var files: Set<String> = []

    init() throws {
        var template = Array("/tmp/screen-authority-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw XClient.Failure(description: "no folder in /tmp") }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        for file in files { unlink(file) }
        rmdir(path)
    }

    /// A file with a cookie of sixteen equal bytes, for every display.
    func file(_ name: String, cookie byte: UInt8) -> String {
        var bytes: [UInt8] = [0xFF, 0xFF]
        for field in [[], [], Array("MIT-MAGIC-COOKIE-1".utf8), [UInt8](repeating: byte, count: 16)] {
            bytes += [UInt8(field.count >> 8), UInt8(field.count & 255)] + field
        }
        let file = "\(path)/\(name)"
        files.insert(file)
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        precondition(write(descriptor, bytes, bytes.count) == bytes.count, "\(file) cannot be written")
        close(descriptor)
        return file
    }
}
