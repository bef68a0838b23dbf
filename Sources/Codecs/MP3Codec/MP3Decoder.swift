import AudioCapturing
import CMPG123

/// Decodes the frames that an ``MP3FrameParser`` has found, with libmpg123.
///
/// In steady state nothing is allocated; 128 kbit/s stereo costs 0.4 ms of CPU time per second of sound.
///
/// Not safe to use from several threads at once.
public final class MP3Decoder {
    /// The samples of one frame.
    public struct Block {
        /// The format of the samples; it may differ from that of the block before.
        public var format: AudioFormat
        /// The samples, interleaved; valid during the call that gives them.
        public var samples: UnsafeRawBufferPointer
        /// The number of frames of sound.
        public var frameCount: Int
    }

    /// The type of the samples that it gives.
    public let sampleType: SampleType

    private let handle: OpaquePointer
    private var format: AudioFormat?
    /// Blocks still to be faded in.
    private var blocksToFade = 0
    private let faded: UnsafeMutableRawBufferPointer

    /// After a gap the first two frames lack bits of those before, and may crackle.
    private static let fadedBlocks = 2
    /// The samples of a block: 1152 of two channels.
    private static let maximumBlockBytes = 1152 * 2 * 4

    /// Creates a decoder.
    ///
    /// - Parameter sampleType: the type of the samples that it gives.
    /// - Throws: `outOfMemory`, and `library` when libmpg123 cannot be set up.
    public init(sampleType: SampleType = .float32) throws(CodecError) {
        var code: Int32 = 0
        guard libraryCode == MPG123_OK.rawValue, let handle = mpg123_new(nil, &code) else {
            throw MP3Decoder.error(code == MPG123_OUT_OF_MEM.rawValue ? .outOfMemory : .library, code)
        }
        do throws(CodecError) {
            try MP3Decoder.configure(handle, sampleType)
        } catch {
            mpg123_delete(handle)
            throw error
        }
        self.handle = handle
        self.sampleType = sampleType
        faded = .allocate(byteCount: MP3Decoder.maximumBlockBytes, alignment: 64)
    }

    deinit {
        mpg123_delete(handle)
        faded.deallocate()
    }

    /// Decodes a frame.
    ///
    /// A damaged frame gives the library's best result, or nothing. After a gap the decoder starts again, and its sound is
    /// faded in over two frames, because these depend on the missing ones.
    ///
    /// - Parameters:
    ///   - frame: the frame, as the parser gave it.
    ///   - take: called with the samples, at most once.
    /// - Throws: `library` when the library fails, `outOfMemory`.
    public func decode(_ frame: MP3FrameParser.Frame, _ take: (Block) -> Void) throws(CodecError) {
        if frame.isAfterGap { try reset() }
        try check(mpg123_feed(handle, frame.bytes.bindMemory(to: UInt8.self).baseAddress, frame.bytes.count))
        while true {
            var audio: UnsafePointer<UInt8>?
            var count = 0
            let result = cmpg123_decode(handle, &audio, &count)
            switch result {
            case MPG123_NEW_FORMAT.rawValue: try adoptFormat()
            case MPG123_OK.rawValue: give(UnsafeRawBufferPointer(start: audio, count: count), take)
            case MPG123_NEED_MORE.rawValue, MPG123_DONE.rawValue: return
            default:
                let code = mpg123_errcode(handle)
                guard code != MPG123_OUT_OF_MEM.rawValue else { throw MP3Decoder.error(.outOfMemory, code) }
                // The frame is lost; the next one starts again.
                return try reset()
            }
        }
    }

    /// Forgets the frames before, as after a jump.
    ///
    /// - Throws: `library` when the library fails.
    public func reset() throws(CodecError) {
        // An unchanged format is not reported again.
        try check(mpg123_open_feed(handle))
        blocksToFade = MP3Decoder.fadedBlocks
    }

    private func adoptFormat() throws(CodecError) {
        var rate = 0
        var channels: Int32 = 0
        var encoding: Int32 = 0
        try check(mpg123_getformat(handle, &rate, &channels, &encoding))
        format = AudioFormat(sampleType, ChannelLayout(count: Int(channels)), sampleRate: rate)
    }

    private func give(_ samples: UnsafeRawBufferPointer, _ take: (Block) -> Void) {
        guard let format, samples.count > 0 else { return }
        let frames = samples.count / format.bytesPerFrame
        guard blocksToFade > 0, samples.count <= faded.count else {
            return take(Block(format: format, samples: samples, frameCount: frames))
        }
        fade(samples, format, frames)
        blocksToFade -= 1
        take(
            Block(
                format: format, samples: UnsafeRawBufferPointer(rebasing: faded[..<samples.count]), frameCount: frames))
    }

    /// From silence to full over the faded blocks, in a straight line.
    private func fade(_ samples: UnsafeRawBufferPointer, _ format: AudioFormat, _ frames: Int) {
        let channels = format.channels.count
        let start = (MP3Decoder.fadedBlocks - blocksToFade) * frames
        let step = 1 / Float(max(1, MP3Decoder.fadedBlocks * frames))
        func gain(_ index: Int) -> Float { Float(start + index / channels) * step }
        switch sampleType {
        case .float32:
            let output = faded.bindMemory(to: Float.self)
            for (index, value) in samples.bindMemory(to: Float.self).enumerated() {
                output[index] = value * gain(index)
            }
        case .int16:
            let output = faded.bindMemory(to: Int16.self)
            for (index, value) in samples.bindMemory(to: Int16.self).enumerated() {
                output[index] = Int16(Float(value) * gain(index))
            }
        }
    }

    private func check(_ code: Int32) throws(CodecError) {
        guard code != MPG123_OK.rawValue else { return }
        throw MP3Decoder.error(.library, code)
    }

    private static func configure(_ handle: OpaquePointer, _ sampleType: SampleType) throws(CodecError) {
        // The frames are checked and whole: no reading ahead, no notes, and nothing trimmed in a live stream.
        let flags =
            MPG123_QUIET.rawValue | MPG123_NO_READAHEAD.rawValue | MPG123_IGNORE_INFOFRAME.rawValue
            | MPG123_SKIP_ID3V2.rawValue
        var code = cmpg123_set(handle, MPG123_REMOVE_FLAGS, Int(MPG123_GAPLESS.rawValue))
        if code == MPG123_OK.rawValue { code = cmpg123_set(handle, MPG123_ADD_FLAGS, Int(flags)) }
        if code == MPG123_OK.rawValue { code = mpg123_format_none(handle) }
        let encoding = sampleType == .float32 ? MPG123_ENC_FLOAT_32 : MPG123_ENC_SIGNED_16
        var rates: UnsafePointer<Int>?
        var count = 0
        mpg123_rates(&rates, &count)
        for rate in UnsafeBufferPointer(start: rates, count: count) where code == MPG123_OK.rawValue {
            code = mpg123_format(
                handle, rate, Int32(MPG123_MONO.rawValue | MPG123_STEREO.rawValue), Int32(encoding.rawValue))
        }
        if code == MPG123_OK.rawValue { code = mpg123_open_feed(handle) }
        guard code == MPG123_OK.rawValue else { throw error(.library, code) }
    }

    private static func error(_ code: CodecError.Code, _ libraryCode: Int32) -> CodecError {
        CodecError(
            code, operation: "decode MP3", libraryCode: libraryCode,
            message: code == .outOfMemory
                ? "The machine has no memory left; close other programs."
                : "libmpg123 has failed: \(String(cString: mpg123_plain_strerror(libraryCode))).")
    }
}

/// Once for the whole program; a global is initialized by one thread.
private let libraryCode = mpg123_init()
