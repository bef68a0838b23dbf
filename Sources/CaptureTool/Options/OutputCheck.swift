import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Checks all outputs before any of them is created, so that an error in one leaves no file of another behind.
enum OutputCheck {
    /// The file that a path refers to, however it is spelled.
    private enum Identity: Hashable {
        case file(device: dev_t, inode: ino_t)
        case newFile(folderDevice: dev_t, folder: ino_t, name: String)
    }

    /// The descriptors that `-` and messages refer to.
    struct Streams {
        var input = STDIN_FILENO
        var output = STDOUT_FILENO
        var error = STDERR_FILENO
    }

    /// Where an output writes.
    struct Place {
        /// The path, `-` for standard output; nil for none.
        var path: String?
        /// Whether it writes lines of text.
        var isText = false
        /// The option that names it.
        var option = "output"
    }

    /// Checks that the outputs can be written, that no two are the same file, and that none is the input.
    ///
    /// - Parameter input: the path of the input, a pattern of numbered images, or `-`; nil for none.
    static func run(
        _ outputs: [Place], input: String?, overwrites: Bool, streams: Streams = Streams()
    ) throws(ExitError) {
        let inputs = input.map { identities(ofInput: $0, streams.input) } ?? []
        let log = opened(streams.error)
        var seen: [Identity: String] = [:]
        for output in outputs {
            guard let path = output.path else { continue }
            let identity =
                path == "-"
                ? try checkStandardOutput(streams.output, isText: output.isText)
                : try check(output, path, overwrites: overwrites)
            guard let identity else { continue }
            let name = path == "-" ? "standard output" : path
            if inputs.contains(identity) {
                throw ExitError(.usage, "--\(output.option) \(path): \(name) is the input; choose another name.")
            }
            // A checksum is a line of text among others.
            if identity == log, !output.isText {
                throw ExitError(.usage, "--output \(path): standard error goes to the same file; choose another one.")
            }
            if let other = seen.updateValue(name, forKey: identity) {
                throw ExitError(.usage, "--\(output.option) \(path): \(other) is the same file; leave one out.")
            }
        }
    }

    /// The files that the input consists of.
    private static func identities(ofInput input: String, _ descriptor: Int32) -> Set<Identity> {
        if input == "-" { return Set([opened(descriptor)].compactMap(\.self)) }
        if let (identity, mode) = existing(input) { return holdsData(mode) ? [identity] : [] }
        return NumberedName(input).map { Set(identities(of: $0)) } ?? []
    }

    /// The files of a sequence as FFmpeg reads it: from the first one, whose number is at most 1000, to the last one
    /// before a gap.
    private static func identities(of pattern: NumberedName) -> [Identity] {
        func identity(_ number: Int) -> Identity? { existing(pattern.name(number))?.identity }
        guard let first = (0...1000).first(where: { identity($0) != nil }) else { return [] }
        var found: [Identity] = []
        while let identity = identity(first + found.count) { found.append(identity) }
        return found
    }

    private static func checkStandardOutput(_ descriptor: Int32, isText: Bool) throws(ExitError) -> Identity? {
        guard isText || isatty(descriptor) == 0 else {
            throw ExitError(
                .usage,
                "--output -: standard output is a terminal, which does not show media; redirect it, as in -o - > "
                    + "film.webm, or pipe it to a program.")
        }
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE != O_RDONLY else {
            throw ExitError(
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

    private static func check(_ place: Place, _ given: String, overwrites: Bool) throws(ExitError) -> Identity? {
        guard place.option != "output" || NumberedName(given) == nil else {
            throw ExitError(
                .usage,
                "\(given): this output is one file, so its name takes no number; leave the % field out, or write "
                    + "stills: shot-%03d.jpg.")
        }
        let path = try target(of: given, overwrites: overwrites)
        guard let (identity, mode) = existing(path) else { return try checkFolder(of: path) }
        switch mode & S_IFMT {
        case S_IFDIR: throw ExitError(.inputOutput, "\(path): this is a folder; name a file in it.")
        case S_IFREG where !overwrites:
            throw ExitError(.usage, "\(path): exists already; add --force to overwrite it, or choose another name.")
        default: break
        }
        guard access(path, W_OK) == 0 else { throw error(path, errno) }
        return identity
    }

    /// The path of the file that is written: that to which a dangling link leads, through further ones.
    private static func target(of path: String, overwrites: Bool) throws(ExitError) -> String {
        var path = path
        for _ in 0..<40 {
            var status = stat()
            guard stat(path, &status) != 0, lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else {
                return path
            }
            var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = bytes.withUnsafeMutableBytes { readlink(path, $0.baseAddress!, $0.count) }
            guard count > 0 else { throw error(path, errno) }
            let link = String(decoding: bytes[..<count], as: UTF8.self)
            guard overwrites else {
                throw ExitError(
                    .usage,
                    "\(path): a link to \(link), which does not exist; add --force to make that file, or choose "
                        + "another name.")
            }
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
            path = link.hasPrefix("/") ? link : folder + link
        }
        throw error(path, ELOOP)
    }

    private static func checkFolder(of path: String) throws(ExitError) -> Identity {
        let slash = path.lastIndex(of: "/")
        let name = String(slash.map { path[path.index(after: $0)...] } ?? path[...])
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        var status = stat()
        guard stat(folder, &status) == 0 else { throw error(folder, errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw error(folder, ENOTDIR) }
        guard access(folder, W_OK | X_OK) == 0 else { throw error(path, errno) }
        return .newFile(folderDevice: status.st_dev, folder: status.st_ino, name: name)
    }

    private static func existing(_ path: String) -> (identity: Identity, mode: mode_t)? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return (.file(device: status.st_dev, inode: status.st_ino), status.st_mode)
    }

    private static func error(_ path: String, _ code: Int32) -> ExitError {
        switch code {
        case ENOENT: ExitError(.noInput, "\(path): no such folder; create it with mkdir -p, or check the path.")
        case ENOTDIR: ExitError(.noInput, "\(path): a part of this path is a file, not a folder; check the path.")
        case EACCES, EPERM: ExitError(.noPermission, "\(path): no permission to write here; check the permissions.")
        case EROFS: ExitError(.noPermission, "\(path): the file system is read-only; choose another folder.")
        default: ExitError(.inputOutput, "\(path): \(String(cString: strerror(code))); choose another name.")
        }
    }
}
