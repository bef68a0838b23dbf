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

    /// The descriptors that `-` and messages mean.
    struct Streams {
        var input = STDIN_FILENO
        var output = STDOUT_FILENO
        var error = STDERR_FILENO
    }

    /// - Parameter input: the path of the input, a pattern of numbered pictures, or `-`; nil for none.
    static func run(
        _ outputs: [OutputName], input: String?, overwrites: Bool, streams: Streams = Streams()
    ) throws(Refusal) {
        let inputs = input.map { identities(ofInput: $0, streams.input) } ?? []
        let log = opened(streams.error)
        var seen: [Identity: String] = [:]
        for output in outputs {
            guard let path = output.path else { continue }
            let identity =
                path == "-" ? try checkStandardOutput(streams.output) : try check(path, overwrites: overwrites)
            guard let identity else { continue }
            let name = path == "-" ? "standard output" : path
            if inputs.contains(identity) {
                throw Refusal(.usage, "--output \(path): \(name) is the input; choose another name.")
            }
            // A checksum is a line of text among others.
            if identity == log, output.format != .md5 {
                throw Refusal(.usage, "--output \(path): standard error goes to the same file; name another.")
            }
            if let other = seen.updateValue(name, forKey: identity) {
                throw Refusal(.usage, "--output \(path): \(other) is the same file; leave one out.")
            }
        }
    }

    /// The files that are read.
    private static func identities(ofInput input: String, _ descriptor: Int32) -> Set<Identity> {
        if input == "-" { return Set([opened(descriptor)].compactMap(\.self)) }
        if let (identity, mode) = existing(input) { return holdsData(mode) ? [identity] : [] }
        return NumberedNames(input).map { Set($0.existing { existing($0)?.identity }) } ?? []
    }

    private static func checkStandardOutput(_ descriptor: Int32) throws(Refusal) -> Identity? {
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE != O_RDONLY else {
            throw Refusal(
                .inputOutput, "standard output: closed, or not open for writing; redirect it, or name a file.")
        }
        return opened(descriptor)
    }

    /// The file behind a descriptor; nil for a pipe, a terminal and the like.
    private static func opened(_ descriptor: Int32) -> Identity? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, holdsData(status.st_mode) else { return nil }
        return .file(device: status.st_dev, inode: status.st_ino)
    }

    /// Whether it is a file or a disk.
    private static func holdsData(_ mode: mode_t) -> Bool { [S_IFREG, S_IFBLK].contains(mode & S_IFMT) }

    private static func check(_ path: String, overwrites: Bool) throws(Refusal) -> Identity? {
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
