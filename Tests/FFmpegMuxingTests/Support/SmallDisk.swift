import TestTools

/// A file system in memory with a limit; mounting it needs root.
final class SmallDisk {
    let path: String
    private let folder = TemporaryFolder()

    static let isPossible = (try? SmallDisk(bytes: 4096)) != nil

    init(bytes: Int) throws {
        path = folder.path
        try run("mount", "-t", "tmpfs", "-o", "size=\(bytes)", "none", path)
    }

    deinit { _ = try? run("umount", path) }
}
