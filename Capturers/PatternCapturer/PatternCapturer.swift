public import VideoCapturing

/// A capture of test pictures: color bars, a moving ball, the time and the number of each frame.
///
/// For what noise cannot show: whether colors, proportions and motion arrive as they were sent, which frame is shown, and
/// how late. Needs no device; the same frames for the same clock.
///
/// Frames keep the pixel format; size and rate follow what consumers want (`adapt(to:)`).
public final class PatternCapturer: ForwardingVideoCapture {
    /// What the pictures show.
    public enum Pattern: String, Sendable, Hashable, CaseIterable {
        /// Eight bars of 75 % (ITU-R BT.471) above a ramp from black to white.
        case bars
        /// A white ball that bounces on black, one width of the picture per two seconds.
        case ball
        /// The bars and the ball, with the time since the start and the frame's number.
        case clock
    }

    public let forwardedCapture: SourceCapturer

    /// A capture; see ``Pattern``.
    ///
    /// - Parameters:
    ///   - pattern: what the pictures show.
    ///   - format: pixel format (NV12 or I420) and size, each side 16 to 16383 pixels. Other values make `initCapture`
    ///     throw `invalidConfiguration` or `formatUnsupported`.
    ///   - frameRate: frames per second; nil for as fast as consumers take them.
    ///   - clock: where timestamps, pacing and the time in the picture come from.
    public init(
        _ pattern: Pattern = .clock, format: VideoFormat = .nv12(width: 640, height: 480), frameRate: FrameRate? = 30,
        clock: any CaptureClock = MonotonicClock()
    ) {
        forwardedCapture = SourceCapturer(
            PatternSource(pattern: pattern, format: format, frameRate: frameRate), name: "pattern", clock: clock)
    }
}

extension CapturerEntry {
    /// Test pictures, as the source `pattern` of a program.
    public static let pattern = CapturerEntry(
        name: "pattern", summary: "Test pictures: color bars, a moving ball, the time and the number of the frame.",
        schemes: ["pattern"],
        options: [
            .size(default: "640x480"),
            .pixelFormat([.nv12, .i420], default: "nv12"),
            .frameRate(default: "30"),
            OptionDescription(
                "pattern", .choice(PatternCapturer.Pattern.allCases.map(\.rawValue)), "what the pictures show",
                default: "clock"),
        ],
        make: { request in
            let rate = try request.frameRate(default: 30)
            let patterns = PatternCapturer.Pattern.allCases.map { (name: $0.rawValue, value: $0) }
            var source = CatalogSource(
                PatternCapturer(
                    try request.options.choice("pattern", patterns) ?? .clock,
                    format: try request.format(default: .nv12(width: 640, height: 480)), frameRate: rate))
            source.isMadeOnDemand = rate == nil
            return source
        })
}
