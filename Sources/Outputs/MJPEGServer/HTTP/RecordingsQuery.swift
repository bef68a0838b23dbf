import MediaPublishing
import VideoCapturing

/// The addresses below `/recordings`: their times, and what answers them. A request names times and never a file.
enum RecordingsQuery {
    static let refusal = Reply(
        400,
        "Give times in seconds since 1970, such as /recordings/clip?start=1767225600.5&duration=30; a clip lasts up to a "
            + "day.")

    /// `from` and `to` in seconds since 1970, each optional; nil for what makes no sense.
    static func range(_ query: Query) -> (from: Duration?, to: Duration?)? {
        guard let from = time("from", query), let to = time("to", query) else { return nil }
        return (from, to)
    }

    /// `start` in seconds since 1970, and `duration` in seconds; nil for what makes no sense.
    static func clip(_ query: Query) -> (start: Duration, duration: Duration)? {
        guard case .some(.some(let start)) = time("start", query),
            case .some(.some(let duration)) = time("duration", query), duration > .zero
        else { return nil }
        return (start, duration)
    }

    /// The latest time: in the year 2255.
    private static let latest: Int64 = 9_000_000_000

    /// Nil for a text that is not a time; nil within for none.
    private static func time(_ name: String, _ query: Query) -> Duration?? {
        guard let text = query[name] else { return .some(nil) }
        guard let value = parseDecimal(text[...], decimals: 9), value >= 0, value <= latest * 1_000_000_000 else {
            return nil
        }
        return .some(.nanoseconds(value))
    }

    static func reply(_ error: any Error) -> Reply {
        guard let error = error as? RecordingError else { return Reply(404, "The recording cannot be read.") }
        switch error.code {
        case .invalidRange: return Reply(400, error.message)
        case .notRecorded: return Reply(404, error.message)
        // The names of files are for those that may see the disk.
        case .unreadable:
            return Reply(404, "The files of that time cannot be read, or were deleted; choose another time.")
        }
    }

    /// The list: times in seconds since 1970.
    static func json(_ recordings: [Recording], unknownCount: Int) -> String {
        JSONValue.object([
            ("unknown", .count(unknownCount)), ("now", .number(wallClockTime().seconds, decimals: 3)),
            (
                "recordings",
                .array(
                    recordings.map { recording in
                        .object([
                            ("start", .number(recording.start.seconds, decimals: 3)),
                            ("duration", .number(recording.duration.seconds, decimals: 3)),
                            ("bytes", .integer(recording.bytes)),
                            ("reasons", .array(recording.reasons.map { .string($0.rawValue) })),
                            ("detail", recording.detail.map { .string($0) } ?? .null),
                            ("ongoing", .bool(recording.isOngoing)),
                        ])
                    })
            ),
        ]).text
    }
}
