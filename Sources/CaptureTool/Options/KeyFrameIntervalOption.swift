import VideoCapturing

/// The longest way from one key frame to the next: seconds (`2`, `0.5s`) or frames (`60f`).
public enum KeyFrameIntervalOption: Sendable, Hashable {
    case time(Duration)
    case frames(Int64)

    public static func parse(_ text: String) throws(OptionError) -> KeyFrameIntervalOption {
        if text.hasSuffix("f") {
            guard let count = parseDigits(String(text.dropLast()), as: Int64.self), (1...1_000_000).contains(count)
            else {
                throw OptionError("--keyframe-interval", text, "the frames between key frames are 1 to 1000000: 60f.")
            }
            return .frames(count)
        }
        do {
            return .time(try TimeOption.parse(text, option: "--keyframe-interval"))
        } catch {
            throw OptionError(
                "--keyframe-interval", text, "no interval above zero. Give seconds (2, 0.5) or frames (60f).")
        }
    }

    /// The time at the given rate. Half a frame less than so many frames, since a frame's time may be a little early.
    func duration(at rate: FrameRate) -> Duration {
        switch self {
        case .time(let time): time
        case .frames(let count): max(.nanoseconds(1), rate.time(ofFrame: count) - rate.frameInterval / 2)
        }
    }
}
