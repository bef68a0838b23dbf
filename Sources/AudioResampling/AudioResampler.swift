import AudioCapturing
import CSWResample

/// Converts sound from one format to another as a stream: rate, sample type, and the number of channels.
///
/// The rate can be trimmed while it runs (``compensation``), which is how sound of one clock is played by another one:
/// a tone keeps 94 dB above its noise at 200 ppm, where dropping single samples leaves 28 dB.
///
/// Not safe to use from several threads at once.
public final class AudioResampler {
    /// The format of the input.
    public let input: AudioFormat
    /// The format of the output.
    public let output: AudioFormat

    /// How much longer the output is than the input says, in millionths: 200 gives 48,009.6 frames where 48,000 are due.
    ///
    /// Takes effect with the next input. Values beyond ±5000 are limited to these.
    public var compensation: Double = 0 {
        didSet { compensation = compensation.isFinite ? min(max(compensation, -5000), 5000) : 0 }
    }

    private let context: OpaquePointer
    /// What the library was told, and the frames of output until it must be told again.
    private var applied = 0.0
    private var framesUntilRefresh = 0

    /// Creates a resampler.
    ///
    /// - Parameters:
    ///   - input: the format of what is converted.
    ///   - output: the format to convert to. Mono becomes stereo on both sides, and stereo mono by the mean.
    /// - Throws: `formatUnsupported` for formats that cannot be converted, `outOfMemory`.
    public init(from input: AudioFormat, to output: AudioFormat) throws(CodecError) {
        self.input = input
        self.output = output
        guard (1...768_000).contains(input.sampleRate), (1...768_000).contains(output.sampleRate),
            (1...8).contains(input.channels.count), (1...8).contains(output.channels.count)
        else { throw AudioResampler.unsupported(input, output, nil) }
        var result: Int32 = 0
        guard
            let context = cswresample_make(
                input.sampleType == .float32 ? 1 : 0, Int32(input.channels.count), Int32(input.sampleRate),
                output.sampleType == .float32 ? 1 : 0, Int32(output.channels.count), Int32(output.sampleRate), &result)
        else {
            guard result != cswresample_out_of_memory else {
                throw CodecError(
                    .outOfMemory, operation: "set up the resampler",
                    message: "The machine has no memory left; close other programs.")
            }
            throw AudioResampler.unsupported(input, output, result)
        }
        self.context = context
    }

    deinit { cswresample_free(context) }

    /// How long the sound is that was taken and not given yet.
    public var delay: Duration {
        // In units of both rates, so that nothing is rounded.
        let base = Int64(input.sampleRate) * Int64(output.sampleRate)
        return .nanoseconds(Int64(Double(cswresample_delay(context, base)) * 1e9 / Double(base)))
    }

    /// The room that the output of an input needs, in frames.
    ///
    /// - Parameter frames: frames of input; not negative.
    /// - Returns: the largest number of frames that ``convert(_:into:)`` gives for them.
    public func outputCapacity(forInput frames: Int) -> Int {
        // The library counts what it holds; compensation and rounding are beside that.
        let bound = cswresample_output_frames(context, Int32(clamping: frames))
        return Int(max(0, bound)) + Int(max(0, bound)) / 100 + 32
    }

    /// Converts a stretch of sound that follows the last one.
    ///
    /// - Parameters:
    ///   - samples: whole frames of ``input``, interleaved.
    ///   - memory: where the frames of ``output`` go; with room for ``outputCapacity(forInput:)``, or what does not fit is
    ///     kept and comes first in the next call.
    /// - Returns: the number of frames written.
    /// - Throws: `library` when the library fails.
    public func convert(
        _ samples: UnsafeRawBufferPointer, into memory: UnsafeMutableRawBufferPointer
    ) throws(CodecError) -> Int {
        compensate()
        let frames = samples.count / input.bytesPerFrame
        guard frames > 0 else { return 0 }
        return try run(samples.baseAddress, frames, memory)
    }

    /// Gives what is left at the end of the sound; call it until it returns 0. ``reset()`` comes before further input.
    ///
    /// - Parameter memory: where the frames of ``output`` go.
    /// - Returns: the number of frames written.
    /// - Throws: `library` when the library fails.
    public func drain(into memory: UnsafeMutableRawBufferPointer) throws(CodecError) -> Int {
        try run(nil, 0, memory)
    }

    /// Forgets the sound before, as after a jump. ``compensation`` stays.
    ///
    /// - Throws: `library` when the library fails.
    public func reset() throws(CodecError) {
        try check(cswresample_reset(context))
        applied = 0
    }

    private func run(
        _ samples: UnsafeRawPointer?, _ frames: Int, _ memory: UnsafeMutableRawBufferPointer
    ) throws(CodecError) -> Int {
        let room = memory.count / output.bytesPerFrame
        guard room > 0 else { return 0 }
        let count = cswresample_convert(
            context, memory.baseAddress, Int32(clamping: room), samples, Int32(clamping: frames))
        try check(count)
        framesUntilRefresh -= Int(count)
        return Int(count)
    }

    /// The library compensates over a stretch, and goes back to the nominal rate at its end: so it is set again long
    /// before. The stretch is long for the resolution too, since it takes whole frames: 0.35 millionths at 48 kHz.
    private func compensate() {
        guard compensation != applied || (applied != 0 && framesUntilRefresh <= 0) else { return }
        let distance = output.sampleRate * 60
        let frames = Int32((compensation * Double(distance) / 1e6).rounded())
        cswresample_compensate(context, frames, frames == 0 ? 0 : Int32(distance))
        applied = compensation
        framesUntilRefresh = output.sampleRate * 10
    }

    private func check(_ result: Int32) throws(CodecError) {
        guard result < 0 else { return }
        throw CodecError(
            result == cswresample_out_of_memory ? .outOfMemory : .library, operation: "resample", libraryCode: result,
            message: "The sound cannot be converted from \(input) to \(output); restart the program.")
    }

    private static func unsupported(_ input: AudioFormat, _ output: AudioFormat, _ code: Int32?) -> CodecError {
        CodecError(
            .formatUnsupported, operation: "set up the resampler", libraryCode: code,
            message: "Sound cannot be converted from \(input) to \(output); use 1 to 8 channels and rates up to 768000."
        )
    }
}
