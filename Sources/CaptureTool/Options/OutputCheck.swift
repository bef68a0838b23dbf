import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Looks at the places of all outputs before any of them is made, so that a fault in one leaves no other behind.
enum OutputCheck {
    /// Which file a path means, however it is spelled.
    private enum Identity: Hashable {
        case file(device: dev_t, inode: ino_t)
        case newFile(folderDevice: dev_t, folder: ino_t, name: String)
    }

    static func run(_ outputs: [OutputName], input: String?, overwrites: Bool) throws(Refusal) {
        var seen: [Identity: String] = [:]
        for output in outputs {
            guard let path = output.path, path != "-" else { continue }
            let identity = try check(path, overwrites: overwrites)
            if let input, case .file = identity, identity == existing(input)?.identity {
                throw Refusal(.usage, "--output \(path): this is the input; choose another name.")
            }
            if let other = seen.updateValue(path, forKey: identity) {
                throw Refusal(.usage, "--output \(path): \(other) is the same file; leave one out.")
            }
        }
    }

    private static func check(_ path: String, overwrites: Bool) throws(Refusal) -> Identity {
        guard let (identity, mode) = existing(path) else { return try checkFolder(of: path) }
        switch mode & S_IFMT {
        case S_IFDIR: throw Refusal(.inputOutput, "\(path): this is a folder; name a file in it.")
        case S_IFREG where !overwrites:
            throw Refusal(.usage, "\(path): exists already; add --force to overwrite it, or choose another name.")
        default: break
        }
        guard access(path, W_OK) == 0 else { throw refusal(path, errno) }
        return identity
    }

    private static func checkFolder(of path: String) throws(Refusal) -> Identity {
        let slash = path.lastIndex(of: "/")
        let name = String(slash.map { path[path.index(after: $0)...] } ?? path[...])
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        var status = stat()
        guard stat(folder, &status) == 0 else { throw refusal(folder, errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw refusal(folder, ENOTDIR) }
        guard access(folder, W_OK | X_OK) == 0 else { throw refusal(path, errno) }
        return .newFile(folderDevice: status.st_dev, folder: status.st_ino, name: name)
    }

    private static func existing(_ path: String) -> (identity: Identity, mode: mode_t)? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return (.file(device: status.st_dev, inode: status.st_ino), status.st_mode)
    }

    private static func refusal(_ path: String, _ code: Int32) -> Refusal {
        switch code {
        case ENOENT: Refusal(.noInput, "\(path): no such folder; make it with mkdir -p, or check the path.")
        case ENOTDIR: Refusal(.noInput, "\(path): a part of this path is a file, not a folder; check the path.")
        case EACCES, EPERM: Refusal(.noPermission, "\(path): you may not write here; check the permissions.")
        case EROFS: Refusal(.noPermission, "\(path): mounted for reading only; choose another folder.")
        default: Refusal(.inputOutput, "\(path): \(String(cString: strerror(code))); choose another name.")
        }
    }
}
