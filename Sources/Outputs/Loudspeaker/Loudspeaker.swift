public import AudioCapturing
public import AudioRendering
import CALSA

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Plays through a sound card or a sound server, through ALSA.
///
/// Its level is its own: the frames written less those that the device has played, and never more than that says. Some
/// sound servers state none, or go on "playing" with nothing to play, so a level of zero is the underrun, whatever the
/// state; playing goes on automatically with the next ``write(_:)``. A device that cannot pause is stopped, and gets again what
/// it had not played.
///
/// Used by one thread at a time.
public final class Loudspeaker: AudioRenderer {
    /// A name of ALSA: `default`, `hw:0`, `plughw:CARD=Headset`.
    public let device: String
    private let latency: Duration
    private let state = Locked(State())

    private struct State {
        var output: PCMOutput?
        var isPaused = false
    }

    /// A loudspeaker that opens nothing yet.
    ///
    /// - Parameters:
    ///   - device: a name of ALSA.
    ///   - latency: how much its buffer holds.
    public init(_ device: String = "default", latency: Duration = .milliseconds(200)) {
        self.device = device
        self.latency = latency
    }

    public var name: String { device }

    /// How long a sound server may take to begin, also again after a pause, and to close.
    private static let beginTimeout = Duration.seconds(5)
    private static let closeTimeout = Duration.milliseconds(500)

    public func open(_ wanted: AudioFormat) throws(AudioRendererError) -> AudioFormat {
        let (device, latency) = (device, latency)
        let output = try call("open the loudspeaker", atMost: Loudspeaker.beginTimeout) {
            () throws(AudioRendererError) in try PCMOutput(device, wanted, latency)
        }
        state.withLock { state in
            state.output = output
            state.isPaused = false
        }
        return output.format
    }

    public var bufferFrames: Int { state.withLock { $0.output?.bufferFrames ?? 0 } }

    public func write(_ samples: UnsafeRawBufferPointer) throws(AudioRendererError) -> Int {
        try withOutput("play") { (output, isPaused) throws(AudioRendererError) in
            try isPaused ? 0 : output.write(samples)
        }
    }

    public func queuedFrames() throws(AudioRendererError) -> Int {
        try withOutput("ask for the level") { (output, _) throws(AudioRendererError) in try output.queuedFrames() }
    }

    public func pause() throws(AudioRendererError) {
        try withOutput("pause") { (output, isPaused) throws(AudioRendererError) in
            guard !isPaused else { return }
            try call("pause", atMost: Loudspeaker.beginTimeout) { () throws(AudioRendererError) in try output.pause() }
            isPaused = true
        }
    }

    public func resume() throws(AudioRendererError) {
        try withOutput("resume") { (output, isPaused) throws(AudioRendererError) in
            guard isPaused else { return }
            try output.resume()
            isPaused = false
        }
    }

    public func flush() throws(AudioRendererError) {
        try withOutput("flush") { (output, _) throws(AudioRendererError) in
            try call("flush", atMost: Loudspeaker.beginTimeout) { () throws(AudioRendererError) in try output.flush() }
        }
    }

    public func close() {
        guard let output = state.withLock({ $0.output.take() }) else { return }
        try? call("close the loudspeaker", atMost: Loudspeaker.closeTimeout) { output.close() }
    }

    /// Makes a call that waits for a sound server, however long that hangs; after a while it is abandoned.
    private func call<Answer: Sendable>(
        _ operation: String, atMost limit: Duration,
        _ body: @escaping @Sendable () throws(AudioRendererError) -> Answer
    ) throws(AudioRendererError) -> Answer {
        let end: CallEnd<Result<Answer, AudioRendererError>>
        do throws(CaptureError) {
            end = try CaptureThread.call("loudspeaker", until: MonotonicClock().now.advanced(by: limit)) {
                Result { () throws(AudioRendererError) in try body() }
            }
        } catch {
            throw AudioRendererError(.system, operation: operation, subject: device, message: error.message)
        }
        guard case .answer(let result) = end else {
            throw AudioRendererError(
                .deviceLost, operation: operation, subject: device,
                message: "The sound server does not answer; start it again.")
        }
        return try result.get()
    }

    private func withOutput<Result>(
        _ operation: String, _ body: (PCMOutput, inout Bool) throws(AudioRendererError) -> Result
    ) throws(AudioRendererError) -> Result {
        try state.withLock { (state) throws(AudioRendererError) in
            guard let output = state.output else {
                throw AudioRendererError(
                    .invalidState, operation: operation, subject: device, message: "Open the loudspeaker first.")
            }
            return try body(output, &state.isPaused)
        }
    }
}
