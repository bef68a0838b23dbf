import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The names of files that follow each other: `film-%03d.webm` has their number, `%Y%m%d-%H%M%S.webm` the time at which each
/// begins.
///
/// No name is used twice: numbers go on after those that exist, and a time that a file has already gets `-2`, `-3` and so on
/// before its extension.
struct SplitFiles: Sendable, Hashable {
    /// The folder with a slash behind it; empty for the current one.
    let folder: String
    private let pattern: FileNamePattern
    /// Whether the folder was on another disk than the root at the beginning.
    private let wasMounted: Bool

    /// Parses a pattern; one without any field gets a number before its extension.
    ///
    /// - Throws: `OptionError` for an unknown field, and for fields in the names of folders.
    init(_ path: String) throws(OptionError) {
        let slash = path.lastIndex(of: "/")
        folder = slash.map { String(path[...$0]) } ?? ""
        guard !folder.contains("%") else {
            throw OptionError("output", path, "fields such as %H are for the name of the file, not of its folder.")
        }
        let name = String(slash.map { path[path.index(after: $0)...] } ?? path[...])
        var pattern: FileNamePattern
        do throws(FileNamePattern.Fault) {
            pattern = try FileNamePattern(name)
        } catch {
            throw OptionError(
                "output", path,
                error == .severalNumbers
                    ? "the name has two numbers; leave one out."
                    : "there is such a field neither for numbers (%03d) nor for times (%Y, %m, %d, %H, %M, %S, %s); "
                        + "a percent sign is %%.")
        }
        for case .number(let width, _) in pattern.parts {
            guard width > 0 else {
                throw OptionError(
                    "output", path,
                    "write a number with its digits, as %03d; %d alone is a day, next to a month, as in %Y%m%d.")
            }
            guard width <= 15 else { throw OptionError("output", path, "a number has at most 15 digits.") }
        }
        pattern.fillWithZeros()
        wasMounted = SplitFiles.isMounted(folder)
        let hasFields = pattern.hasNumber || pattern.hasTime
        self.pattern = hasFields ? pattern : FileNamePattern(numbering: pattern.name(number: 0, time: 0))
    }

    /// The path of a file; see ``FileNamePattern/name(number:time:)``.
    func path(number: Int, time: Int64) -> String { folder + pattern.name(number: number, time: time) }

    /// The path of the next file, which no file has.
    ///
    /// - Parameters:
    ///   - number: its number; raised while a file has it already.
    ///   - time: when it begins, in seconds since 1970.
    /// - Returns: nil when thousands of names are taken.
    func freePath(_ number: inout Int, time: Int64) -> String? {
        guard !pattern.hasNumber else {
            for candidate in number..<number + maximumAttempts {
                let path = path(number: candidate, time: time)
                guard isTaken(path) else {
                    number = candidate
                    return path
                }
            }
            return nil
        }
        let path = path(number: number, time: time)
        return isTaken(path) ? freeVariant(of: path) : path
    }

    /// The path of the next file, which no file has; see ``freePath(_:time:)``.
    ///
    /// - Throws: `OptionError` when thousands of names are taken, and while the disk is away: its mount point is an empty
    ///   folder of another disk, which is not to be filled.
    func nextPath(_ number: inout Int, time: Int64) throws(OptionError) -> String {
        guard !wasMounted || SplitFiles.isMounted(folder) else {
            throw OptionError("output", folder, "the disk of this folder is away; connect and mount it again.")
        }
        if let path = freePath(&number, time: time) { return path }
        throw OptionError(
            "output", path(number: number, time: time), "thousands of files have names like this; choose another.")
    }

    /// Whether a folder is on another disk than the root.
    private static func isMounted(_ folder: String) -> Bool {
        var (here, root) = (stat(), stat())
        return stat(folder.isEmpty ? "." : folder, &here) == 0 && stat("/", &root) == 0 && here.st_dev != root.st_dev
    }

    /// The number after those of the files that exist.
    var nextNumber: Int { (existingFiles().compactMap(\.number).max() ?? 0) + 1 }

    // MARK: Files that exist

    /// A file of the folder whose name this pattern makes.
    struct File: Sendable {
        var path: String
        var bytes: Int64
        /// When it was changed last, in nanoseconds since 1970.
        var changed: Int64
        var number: Int?
    }

    /// The regular files with a name that the pattern makes, in this run or an earlier one, the oldest first.
    func existingFiles() -> [File] { readFolder() ?? [] }

    /// As ``existingFiles()``; nil for a folder that cannot be read.
    func readFolder() -> [File]? {
        guard let directory = opendir(folder.isEmpty ? "." : folder) else { return nil }
        defer { closedir(directory) }
        var files: [File] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { $0.prefix { $0 != 0 }.map(\.self) }
            guard let number = number(in: name) else { continue }
            let path = folder + String(decoding: name, as: UTF8.self)
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            files.append(
                File(
                    path: path, bytes: Int64(status.st_size), changed: nanoseconds(of: status.st_mtim),
                    number: number < 0 ? nil : number))
        }
        return files.sorted { ($0.changed, $0.number ?? 0) < ($1.changed, $1.number ?? 0) }
    }

    /// The number in a name, -1 for a pattern without numbers; nil for a name that this pattern does not make.
    func number(in name: [UInt8]) -> Int? {
        if let number = pattern.number(in: name[...]) { return number }
        guard !pattern.hasNumber else { return nil }
        // A time that was taken: `-2` to `-9999` before the extension.
        let dot = name.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
        guard let dash = name[..<dot].lastIndex(of: UInt8(ascii: "-")) else { return nil }
        let digits = name[(dash + 1)..<dot]
        guard (1...4).contains(digits.count), digits.first != UInt8(ascii: "0"), digits.first != nil,
            digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), Array(digits) != [UInt8(ascii: "1")]
        else { return nil }
        return pattern.number(in: (name[..<dash] + name[dot...])[...])
    }
}

private let maximumAttempts = 9999

/// The path with `-2`, `-3` … before its extension, which no file has; nil when all up to `-9999` are taken.
package func freeVariant(of path: String) -> String? {
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    let dot = path[slash...].lastIndex(of: ".") ?? path.endIndex
    return (2...maximumAttempts).lazy.map { "\(path[..<dot])-\($0)\(path[dot...])" }.first { !isTaken($0) }
}

/// Whether there is something of that name. A dangling link counts too, since to write to it makes a file elsewhere.
package func isTaken(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
}

/// How files of a kind begin, so that a file of the user with a name like ours is not deleted.
enum FileSignature {
    private typealias Signature = [(offset: Int, bytes: [UInt8])]

    private static let ebml: [Signature] = [[(0, [0x1A, 0x45, 0xDF, 0xA3])]]
    private static let boxes: [Signature] = [[(4, Array("ftyp".utf8))]]

    /// By ``MediaOutput/kind``; one of several is enough. Raw samples and checksums have none.
    private static let known: [String: [Signature]] = [
        "webm": ebml, "weba": ebml, "matroska": ebml, "mp4": boxes, "mov": boxes, "ipod": boxes,
        "jpeg": [[(0, [0xFF, 0xD8])]], "ivf": [[(0, Array("DKIF".utf8))]], "y4m": [[(0, Array("YUV4MPEG2".utf8))]],
        "wav": [[(0, Array("RIFF".utf8))], [(0, Array("RF64".utf8))]],
        "h264": [[(0, [0, 0, 1])], [(0, [0, 0, 0, 1])]],
        // Packets of 188 bytes, and of 192.
        "mpegts": [[(0, [0x47]), (188, [0x47])], [(4, [0x47]), (196, [0x47])]],
    ]

    /// Whether a file begins as those of a kind do; true for a kind without a signature.
    static func isFile(_ path: String, of kind: String) -> Bool {
        guard let signatures = known[kind] else { return true }
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var head = [UInt8](repeating: 0, count: 200)
        let count = max(0, read(descriptor, &head, head.count))
        return signatures.contains { signature in
            signature.allSatisfy { head[..<count].dropFirst($0.offset).starts(with: $0.bytes) }
        }
    }
}

/// For the fuzz target: the names of a pattern.
@_spi(Fuzzing)
public struct FileNameProbe {
    private let files: SplitFiles

    /// Nil for a text that is not a pattern.
    public init?(_ pattern: String) {
        guard let files = try? SplitFiles(pattern) else { return nil }
        self.files = files
    }

    /// Whether the name of a file is found to have its number, or none.
    public func recognizes(number: Int, time: Int64) -> Bool {
        let path = files.path(number: number, time: time)
        let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
        let found = files.number(in: Array(name.utf8))
        return found == number || found == -1
    }

    /// The number in a name, -1 where the pattern has none; nil for another name.
    public func number(in name: [UInt8]) -> Int? { files.number(in: name) }
}
