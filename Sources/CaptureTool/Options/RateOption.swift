import VideoCapturing

/// Reads a rate: `30`, `12.5`, `30000/1001`, or `max` for as fast as possible.
public enum RateOption {
    static let slowest = FrameRate(1, per: 3600)!
    static let fastest = FrameRate(1000, per: 1)!

    public static func parse(_ text: String) throws(OptionError) -> CaptureRequest.Rate {
        if text.lowercased() == "max" { return .maximum }
        guard let rate = FrameRate(text) else {
            throw OptionError(
                "--fps", text, "no rate above zero. Give frames per second (30, 12.5, 30000/1001) or max.")
        }
        guard (slowest...fastest).contains(rate) else {
            throw OptionError(
                "--fps", text,
                "a rate is 1/3600 to 1000 frames per second; use max for as fast as possible.")
        }
        return .frames(rate)
    }
}
