#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reads small files, folders and links without Foundation. Blocks on the disk only.
package enum FileReading {
    /// The names in a folder, sorted, without `.` and `..`; nil with `errno` set when it cannot be read.
    package static func names(in folder: String) -> [String]? {
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The beginning of a file; nil when it cannot be read.
    package static func text(of path: String, atMost limit: Int = 4096) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let added = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + count, limit - count) }
            if added < 0, errno == EINTR { continue }
            guard added > 0 else { break }
            count += added
        }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// The first line of a file, without spaces around it; nil when there is none.
    package static func line(of path: String) -> String? {
        guard let line = text(of: path)?.split(separator: "\n", maxSplits: 1).first else { return nil }
        let trimmed = line.drop { $0 == " " }.reversed().drop { $0 == " " || $0 == "\r" }.reversed()
        return trimmed.isEmpty ? nil : String(trimmed)
    }

    /// The target of a link, unresolved; nil for a path that is not a link.
    package static func target(of link: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            let count = readlink(link, buffer.baseAddress!, buffer.count)
            guard count >= 0 else { return nil }
            return String(decoding: UnsafeRawBufferPointer(buffer).prefix(count), as: UTF8.self)
        }
    }

    /// The path with all links followed; nil when nothing is there.
    package static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The `stat` of a path, links followed; nil with `errno` set when nothing is there.
    package static func status(of path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    /// The last part of a path.
    package static func name(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    /// The path without its last part.
    package static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// The folders in which a machine keeps the information on its devices; other ones in tests.
package struct MachinePlaces: Sendable, Hashable {
    /// The kernel's list of video nodes.
    package var videoClass: String
    /// The nodes themselves.
    package var devices: String
    /// A folder for each process.
    package var processes: String
    /// udev's database of devices, world-readable.
    package var udevData: String
    /// The lists of users and groups.
    package var settings: String
    /// The machine's maker and model.
    package var firmware: String
    /// Files that exist in containers only.
    package var containerMarks: [String]

    /// The folders below `root`; the empty string is the machine itself.
    package init(root: String = "") {
        videoClass = root + "/sys/class/video4linux"
        devices = root + "/dev"
        processes = root + "/proc"
        udevData = root + "/run/udev/data"
        settings = root + "/etc"
        firmware = root + "/sys/class/dmi/id"
        containerMarks = [root + "/.dockerenv", root + "/run/.containerenv"]
    }
}
