import VideoCapturing

/// A capture of white noise: every byte of every frame is fresh, uniform and independent.
///
/// The hardest picture there is for an encoder, and the one source that needs no device: for load tests, for
/// trying a pipeline out, for benchmarks. The same seed gives the same frames.
///
/// Frames keep the pixel format; size and rate follow what consumers want (`adapt(to:)`).
public final class NoiseCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// - Parameters:
    ///   - format: pixel format (NV12, I420 or ARGB) and size, each side 2 to 16383 pixels, odd ones included.
    ///     Other values make `initCapture` throw `invalidConfiguration` or `formatUnsupported`.
    ///   - frameRate: frames per second; nil for as fast as consumers take them.
    ///   - seed: chooses the noise. The n-th frame that is made depends on the seed, n and the format alone.
    ///   - clock: where timestamps and pacing come from.
    public init(
        format: VideoFormat = .nv12(width: 640, height: 480), frameRate: FrameRate? = 30, seed: UInt64 = 0,
        clock: any CaptureClock = MonotonicClock()
    ) {
        forwardedCapture = SourceCapturer(
            WhiteNoiseSource(format: format, frameRate: frameRate, seed: seed), name: "noise", clock: clock)
    }
}
