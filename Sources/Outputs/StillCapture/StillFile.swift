import MediaPublishing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Names and writes the files of stills: `shot-%03d.jpg` becomes `shot-001.jpg`, `shot-002.jpg` and so on, and
/// `%Y%m%d-%H%M%S.jpg` the time at which each was taken, by strftime(3).
///
/// A file appears under its name when it is complete: it is written under another one next to it, and renamed. Files written
/// before a failure stay.
public struct StillFile: Sendable, Hashable {
    /// The path, with one field for the number (`%d`, `%3d` or `%03d`) or none, and fields for the time; `%%` is a percent
    /// sign. `%d` is the day next to a month (`%m`).
    public let pattern: String
    /// Whether files that exist are replaced. Never those of a pattern with a time: a time that a file has already gets `-2`,
    /// `-3` and so on before the extension.
    public let overwrites: Bool

    private let names: FileNamePattern

    /// Checks a pattern, and that none of its files exists.
    ///
    /// - Parameters:
    ///   - pattern: the path; see ``pattern``.
    ///   - count: how many stills will be written, from number 1 on.
    ///   - overwrites: whether files that exist are replaced.
    /// - Throws: `invalidName` for several stills and no number, for another field than a number, and for a folder;
    ///   `fileExists`.
    public init(_ pattern: String, count: Int = 1, overwrites: Bool = false) throws(StillCaptureError) {
        self.pattern = pattern
        self.overwrites = overwrites
        names = try StillFile.parse(pattern)
        if count > 1, !names.hasNumber, !names.hasTime {
            throw StillFile.invalid(
                pattern, "\(count) stills need a name with a number or a time; write it as shot-%03d.jpg or %H%M%S.jpg."
            )
        }
        guard !overwrites, !names.hasTime else { return }
        var number = 1
        while number <= count {
            if try StillFile.isRegular(path(number)) { throw StillFile.failure(EEXIST, path(number)) }
            number += 1
        }
    }

    /// The same files, of which none is replaced, and whose existence was not checked.
    var withoutOverwriting: StillFile { StillFile(self, overwrites: false) }

    /// Whether there is nothing of that name; another program may make it before ``write(_:)``, which then throws.
    func isFree(_ number: Int) -> Bool { names.hasTime || access(path(number), F_OK) != 0 }

    /// Whether names have the time at which their stills are taken, so that they are not known before.
    var hasTime: Bool { names.hasTime }

    private init(_ other: StillFile, overwrites: Bool) {
        pattern = other.pattern
        self.overwrites = overwrites
        names = other.names
    }

    /// The path of the file of a number; of a pattern with a time of the file of this moment.
    public func path(_ number: Int) -> String { path(number, date: .seconds(Int64(time(nil)))) }

    /// - Parameter date: the time since 1970, UTC.
    private func path(_ number: Int, date: Duration) -> String {
        names.name(number: number, time: date.components.seconds)
    }

    /// Writes a still to the file of its number; blocks until that is done.
    ///
    /// - Returns: the path of the file.
    /// - Throws: `fileExists`, `folderNotFound`, `permissionDenied`, `diskFull`, `invalidName`, `system`.
    @discardableResult
    public func write(_ still: Still) throws(StillCaptureError) -> String {
        var path = path(still.number, date: still.date)
        guard names.hasTime else {
            try still.data.withUnsafeBytes { (bytes) throws(StillCaptureError) in try write(bytes, to: path) }
            return path
        }
        // Another program may make the file between the look and the writing.
        for _ in 0..<100 {
            if isTaken(path) {
                guard let free = freeVariant(of: path) else { break }
                path = free
            }
            do throws(StillCaptureError) {
                try still.data.withUnsafeBytes { (bytes) throws(StillCaptureError) in
                    try withoutOverwriting.write(bytes, to: path)
                }
                return path
            } catch {
                guard error.code == .fileExists else { throw error }
            }
            path = self.path(still.number, date: still.date)
        }
        throw StillFile.failure(EEXIST, path)
    }

    /// Checks that the first file can be made, by making another one next to it, which is removed at once.
    func checkFolder() throws(StillCaptureError) {
        let path = path(1)
        var status = stat()
        if try !StillFile.isRegular(path), stat(path, &status) == 0 { return }
        let (descriptor, temporary) = try StillFile.makeTemporary(beside: path)
        close(descriptor)
        unlink(temporary)
    }

    // MARK: The pattern

    private static func parse(_ pattern: String) throws(StillCaptureError) -> FileNamePattern {
        guard !pattern.isEmpty, !pattern.hasSuffix("/"), !pattern.utf8.contains(0) else {
            throw invalid(pattern, "This is not the name of a file.")
        }
        do throws(FileNamePattern.Fault) {
            return try FileNamePattern(pattern)
        } catch {
            switch error {
            case .severalNumbers:
                throw invalid(pattern, "There are two fields for the number; leave one out.")
            case .unknownField:
                throw invalid(
                    pattern,
                    "The field for the number is %d or %03d, those for the time are %Y, %m, %d, %H, %M, %S; write a "
                        + "percent sign as %%.")
            }
        }
    }

    private static func invalid(_ pattern: String, _ message: String) -> StillCaptureError {
        StillCaptureError(.invalidName, operation: "name the stills", subject: pattern, message: message)
    }

    // MARK: The file

    /// False where there is nothing, or a pipe or device, which is written to: that destroys nothing.
    private static func isRegular(_ path: String) throws(StillCaptureError) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        if kind == S_IFDIR { throw failure(EISDIR, path) }
        return kind == S_IFREG
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to path: String) throws(StillCaptureError) {
        var status = stat()
        if try !StillFile.isRegular(path), stat(path, &status) == 0 {
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw StillFile.failure(errno, path) }
            return try StillFile.write(bytes, descriptor, path)
        }
        let (descriptor, temporary) = try StillFile.makeTemporary(beside: path)
        // Nothing is left of what could not be written or renamed. After a rename the name may be another still's.
        var isRenamed = false
        defer { if !isRenamed { unlink(temporary) } }
        try StillFile.write(bytes, descriptor, path)
        if overwrites {
            isRenamed = rename(temporary, path) == 0
            guard isRenamed else { throw StillFile.failure(errno, path) }
        } else {
            // Unlike a rename it never replaces a file.
            if link(temporary, path) == 0 { return }
            let code = errno
            // There are no links on FAT, on which cameras' cards are.
            guard code == EPERM || code == ENOTSUP || code == ENOSYS else { throw StillFile.failure(code, path) }
            guard access(path, F_OK) != 0 else { throw StillFile.failure(EEXIST, path) }
            isRenamed = rename(temporary, path) == 0
            guard isRenamed else { throw StillFile.failure(errno, path) }
        }
    }

    /// A new file in the same folder, whose name shells and file managers do not show.
    private static func makeTemporary(beside path: String) throws(StillCaptureError) -> (Int32, String) {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        for attempt in 0..<1000 {
            let name = "\(folder).still-\(getpid())-\(attempt)"
            let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            if descriptor >= 0 { return (descriptor, name) }
            guard errno == EEXIST || errno == EINTR else { throw failure(errno, path) }
        }
        throw failure(EEXIST, "\(folder).still-\(getpid())")
    }

    /// Writes and closes.
    private static func write(
        _ bytes: UnsafeRawBufferPointer, _ descriptor: Int32, _ path: String
    ) throws(StillCaptureError) {
        var code = writeAll(bytes, to: descriptor)
        // Network file systems report here what they could not write.
        if close(descriptor) != 0, code == 0, errno != EINTR { code = errno }
        guard code == 0 else { throw failure(code, path) }
    }

    private static func failure(_ code: Int32, _ path: String) -> StillCaptureError {
        let kind: StillCaptureError.Code
        let message: String
        switch code {
        case EEXIST: (kind, message) = (.fileExists, "The file exists; choose another name, or have it overwritten.")
        case ENOENT, ENOTDIR:
            (kind, message) = (.folderNotFound, "There is no such folder; make it, or choose another.")
        case EACCES, EPERM, EROFS:
            (kind, message) = (.permissionDenied, "You may not write there; choose a folder of your own.")
        case ENOSPC, EDQUOT:
            (kind, message) = (.diskFull, "The disk is full; free some room. The stills before this one are complete.")
        case EISDIR, ENAMETOOLONG, ELOOP:
            (kind, message) = (.invalidName, "This cannot be the name of a file; choose another.")
        default: (kind, message) = (.system, "The still could not be written; try another folder or disk.")
        }
        return StillCaptureError(kind, operation: "write the still", subject: path, errno: code, message: message)
    }
}

/// - Returns: the system's code; 0 when all was written.
private func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var done = 0
    while done < bytes.count {
        let count = write(descriptor, bytes.baseAddress! + done, bytes.count - done)
        if count > 0 {
            done += count
        } else if count == 0 || errno != EINTR {
            return count == 0 ? EIO : errno
        }
    }
    return 0
}
