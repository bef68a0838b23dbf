import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Deletes the oldest files of a pattern beyond some limits.
struct FileRetention: Sendable {
    let files: SplitFiles
    let limits: [SplitOutput.Limit]
    /// See ``MediaOutput/kind``.
    let kind: String
    /// Whether each file may have a still, which is deleted with it.
    var hasStills = false

    /// Whether limits are exceeded by the mere passing of time, or by other programs.
    var changesWithTime: Bool {
        limits.contains { limit in
            switch limit {
            case .age, .free, .freeFraction: true
            case .files, .bytes: false
            }
        }
    }

    /// Deletes files beyond the limits, the oldest first.
    ///
    /// - Parameters:
    ///   - paths: the files that are written, or will be, which are never deleted.
    ///   - now: in nanoseconds since 1970.
    /// - Returns: how many were deleted.
    func deleteOldest(besides paths: [String], now: Int64 = wallClockTime().nanoseconds) -> Int {
        guard !limits.isEmpty else { return 0 }
        var kept = files.existingFiles().filter { !paths.contains($0.path) && FileSignature.isFile($0.path, of: kind) }[
            ...]
        var bytes = kept.reduce(0) { $0 &+ $1.bytes }
        var deleted = 0
        while let file = kept.first, limits.contains(where: { isExceeded($0, kept.count, bytes, file, now) }) {
            kept.removeFirst()
            bytes &-= file.bytes
            guard unlink(file.path) == 0 else { continue }
            deleted += 1
            let still = TriggeredOutput.stillPath(of: file.path)
            if hasStills, FileSignature.isFile(still, of: "jpeg") { unlink(still) }
        }
        return deleted
    }

    private func isExceeded(
        _ limit: SplitOutput.Limit, _ count: Int, _ bytes: Int64, _ oldest: SplitFiles.File, _ now: Int64
    ) -> Bool {
        switch limit {
        case .files(let maximum): return count >= max(1, maximum)
        case .bytes(let maximum): return bytes > maximum
        case .age(let age): return now &- oldest.changed > age.nanoseconds
        case .free(let minimum):
            guard let space = files.space else { return false }
            return space.free < minimum
        case .freeFraction(let fraction):
            guard let space = files.space else { return false }
            return Double(space.free) < fraction * Double(space.total)
        }
    }
}

extension SplitFiles {
    /// The bytes of the folder's file system that this process may still write, and all that it has; nil where that is
    /// unknown.
    var space: (free: Int64, total: Int64)? {
        var status = statvfs()
        guard statvfs(folder.isEmpty ? "." : folder, &status) == 0, status.f_blocks > 0 else { return nil }
        let unit = Int64(clamping: status.f_frsize)
        return (
            Int64(clamping: status.f_bavail).multipliedReportingOverflow(by: unit).partialValue,
            Int64(clamping: status.f_blocks).multipliedReportingOverflow(by: unit).partialValue
        )
    }
}
