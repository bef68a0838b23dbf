import CLibAV
import MediaContainers

extension MediaFileError {
    static func unsupported(_ path: String, _ message: String) -> MediaFileError {
        MediaFileError(.formatUnsupported, operation: "open the file", path: path, message: message)
    }

    static func corrupt(_ path: String, _ message: String) -> MediaFileError {
        MediaFileError(.corruptData, operation: "read the file", path: path, message: message)
    }

    static func outOfMemory(_ path: String) -> MediaFileError {
        MediaFileError(
            .system, operation: "decode the file", path: path, errno: ENOMEM,
            message: "The machine has no memory left for the pictures; close other programs or use a smaller file.")
    }
}

/// What the library says of one of its numbers, as in `Invalid data found when processing input`.
func describeAV(_ code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
        guard let start = text.baseAddress, av_strerror(code, start, text.count) >= 0 else { return "error \(code)" }
        return String(cString: start)
    }
}
