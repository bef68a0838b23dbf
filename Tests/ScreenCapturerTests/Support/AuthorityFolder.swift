import TestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A folder of files as xauth(1) writes them: who may connect to an X server.
final class AuthorityFolder {
    var path: String { folder.path }
    private let folder = TemporaryFolder()

    /// A file with a cookie of sixteen equal bytes, for every display.
    func file(_ name: String, cookie byte: UInt8) throws -> String {
        var bytes: [UInt8] = [0xFF, 0xFF]
        for field in [[], [], Array("MIT-MAGIC-COOKIE-1".utf8), [UInt8](repeating: byte, count: 16)] {
            bytes += [UInt8(field.count >> 8), UInt8(field.count & 255)] + field
        }
        return try folder.write(bytes, to: name)
    }
}
