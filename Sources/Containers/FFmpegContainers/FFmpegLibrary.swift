import CLibAV
import MediaContainers
import VideoCapturing

/// Settings of FFmpeg for the whole process, made once before its first use here.
enum FFmpegLibrary {
    /// The largest allocation of FFmpeg: more than the largest frame needs, and less than an index whose size is damaged.
    static let largestAllocation = 512 << 20

    /// The library reports damage on standard error; here errors are thrown.
    static let prepared: Void = {
        av_log_set_level(AV_LOG_QUIET)
        av_max_alloc(largestAllocation)
    }()
}

extension MediaFileError {
    static func unsupported(_ path: String, _ message: String) -> MediaFileError {
        MediaFileError(.formatUnsupported, operation: "open the file", subject: path, message: message)
    }

    static func corrupt(_ path: String, _ message: String) -> MediaFileError {
        MediaFileError(.corruptData, operation: "read the file", subject: path, message: message)
    }

    static func outOfMemory(_ path: String) -> MediaFileError {
        MediaFileError(
            .system, operation: "decode the file", subject: path, errno: ENOMEM,
            message: "The machine has no memory left for the pictures; close other programs or use a smaller file.")
    }
}

/// The library's description of an error code, as in `Invalid data found when processing input`.
func describeAV(_ code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
        guard let start = text.baseAddress, av_strerror(code, start, text.count) >= 0 else { return "error \(code)" }
        return String(cString: start)
    }
}
