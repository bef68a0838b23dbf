import H264Bitstream
import StreamTransport
import VideoCapturing

/// A decoded frame that was not delivered yet.
struct ReceivedFrame {
    var buffer: PixelBuffer
    var timestamp: MediaTime
    var color: ColorDescription?
    var pixelAspect: PixelAspect
    /// Whether it has two fields, whose lines alternate.
    var isInterlaced: Bool
}

/// One connection with a sender, from its beginning to its loss, with a parser and a decoder of its own: nothing of it is
/// left for the next. Confined to the capture thread.
final class StreamConnection {
    /// Nil where the demuxer has the connection.
    let socket: StreamSocket?
    /// What is sent; nil until the first bytes show it.
    var kind: StreamProbe?
    /// The first bytes, until they show what is sent; then what a demuxer has not read of them.
    var head: [UInt8] = []
    private(set) var demuxer: (any StreamDemuxer)?
    private(set) var decoder: (any VideoDecoder)?
    private(set) var codec = Codec.h264
    private(set) var formatName = ""

    /// In order of their times.
    var ready: [ReceivedFrame] = []
    /// The units of a raw stream that are still to be decoded.
    var units = UnitQueue()
    /// The pictures that the decoder has not returned.
    var pending = PendingPictures()
    /// Why the connection has ended, once the frames before that are delivered.
    var end: ConnectionLoss?
    /// Whether the decoder holds nothing back any more, at the end.
    var isFlushed = false
    /// By the machine's clock: the last bytes, and the last picture that was decoded.
    var lastByte: MediaTime
    var lastPicture: MediaTime
    /// Whether decoding has begun.
    var hasKeyFrame = false
    /// Whether a picture has been decoded.
    var hasPicture = false
    var hasReportedWait = false

    // Raw streams.
    private var parser: AccessUnitParser
    private var unwrapper = LengthUnwrapper()
    /// Whether bytes have come since the last whole unit.
    private(set) var hasPartialUnit = false
    /// Whether the sender writes the next unit's delimiter with each unit, which ends it at once.
    private var sendsDelimitersEarly = false
    /// How long a pause must be for the unit before it to count as whole: several times as long as those within units, and
    /// longer after each mistake.
    private var shortestPause = Duration.milliseconds(4)
    /// The units that have come: pauses end none before some were measured.
    private var unitCount = 0
    private var lastChunk: MediaTime?
    private var discardedBytes: UInt64 = 0
    private var oversizedUnits: UInt64 = 0

    // H.264.
    var tracker = FrameNumberTracker()
    var color: ColorDescription?
    /// The shape of the pixels that the stream states; square where it states none.
    var pixelAspect = PixelAspect.square
    /// The bytes of a length in packets of a container; nil for a byte stream.
    private(set) var lengthSize: Int?
    /// The parameter sets of a container's header as a byte stream.
    private(set) var parameterSets: [UInt8] = []
    var scratch: [UInt8] = []
    /// A key frame that could not be decoded, until it is known whether the next unit continues it.
    var brokenKeyFrame: [UInt8] = []

    /// Where the stream's scale begins on the clock of the capture.
    private var origin: MediaTime?

    init(_ socket: StreamSocket?, maximumPictureBytes: Int, now: MediaTime) {
        self.socket = socket
        parser = AccessUnitParser(maximumByteCount: maximumPictureBytes)
        lastByte = now
        lastPicture = now
        ready.reserveCapacity(32)
    }

    // MARK: Beginning

    /// Begins a raw stream.
    func begin(_ decoders: [VideoDecoderFactory]) throws(CaptureError) {
        formatName = kind == .lengthPrefixed ? "H.264 behind lengths" : "H.264"
        try makeDecoder(decoders)
    }

    /// Begins with what a demuxer has found.
    func begin(_ demuxer: any StreamDemuxer, _ decoders: [VideoDecoderFactory]) throws(CaptureError) {
        self.demuxer = demuxer
        codec = demuxer.track.codec
        if case .video(let video) = demuxer.track.media { pixelAspect = video.pixelAspect }
        formatName = "\(codec == .h264 ? "H.264" : codec.rawValue.uppercased()) in \(demuxer.name)"
        if codec == .h264, let record = demuxer.track.decoderConfiguration {
            do throws(CodecError) {
                let configuration = try record.withUnsafeBytes { (bytes) throws(CodecError) in
                    try AVCDecoderConfiguration(parsing: bytes)
                }
                lengthSize = configuration.lengthSize
                parameterSets = configuration.annexB
                color = configuration.parameters?.color
                pixelAspect = configuration.parameters?.videoUsability?.pixelAspect ?? pixelAspect
            } catch {
                throw CaptureError(
                    .corruptData, operation: "receive the stream",
                    message: "The stream's header is damaged. \(error.message)")
            }
        }
        try makeDecoder(decoders)
    }

    private func makeDecoder(_ decoders: [VideoDecoderFactory]) throws(CaptureError) {
        let name =
            codec == .h264 ? "H264" : codec == .vp8 ? "VP80" : codec == .jpeg ? "MJPG" : codec.rawValue.uppercased()
        guard let fourCC = FourCC(name), let factory = decoders.first(where: { $0.fourCC == fourCC }) else {
            let known = decoders.isEmpty ? "none" : decoders.map(\.fourCC.description).joined(separator: ", ")
            throw CaptureError(
                .formatUnsupported, operation: "receive the stream",
                message: "The stream is \(formatName), for which the program has no decoder (it has: \(known)).")
        }
        do {
            decoder = try factory.makeDecoder()
        } catch {
            throw CaptureError(
                .unavailable, operation: "receive the stream", message: "The decoder cannot be made. \(error)")
        }
    }

    // MARK: Raw streams

    /// Takes bytes of a raw stream, and queues the units that they complete.
    ///
    /// - Parameters:
    ///   - now: by the machine's clock.
    ///   - arrival: by the clock of the capture.
    func append(
        _ bytes: UnsafeRawBufferPointer, at now: MediaTime, arrival: MediaTime
    ) throws(LengthUnwrapper.Implausible) {
        let before = unitCount
        func take(_ unit: AccessUnitParser.Unit) {
            unitCount += 1
            units.append(unit, arrival: arrival)
        }
        // A unit that is queued has been ended by the beginning of the next.
        hasPartialUnit = true
        if endsWithDelimiter(bytes) { sendsDelimitersEarly = true }
        if kind == .lengthPrefixed {
            try unwrapper.unwrap(bytes) { parser.append($0, output: take) }
        } else {
            parser.append(bytes, output: take)
        }
        // These bytes have continued a unit.
        if let lastChunk, unitCount == before {
            shortestPause = min(max(shortestPause, (now - lastChunk) * 4), .seconds(1))
        }
        lastChunk = now
        // What came after a unit that was taken for whole did belong to it: the network pauses longer than that.
        if parser.discardedByteCount != discardedBytes, hasKeyFrame {
            shortestPause = min(shortestPause * 4, .seconds(1))
        }
        discardedBytes = parser.discardedByteCount
    }

    /// The pause that ends the unit that has come so far.
    ///
    /// Programs write through buffers of whole kilobytes, 32 in ffmpeg's case. A unit that so far ends exactly with such a
    /// block mostly goes on, and on a busy machine the rest may come late; taken for whole, it would cost all pictures up
    /// to the next key frame.
    var pause: Duration {
        let endsWithBlock = parser.pendingByteCount > 0 && [0, 1023].contains(parser.pendingByteCount % 1024)
        return endsWithBlock ? shortestPause * 16 : shortestPause
    }

    /// Whether the unit that has come so far is whole if nothing follows for ``pause``.
    var mayFlush: Bool { hasPartialUnit && !sendsDelimitersEarly && unitCount >= 8 }

    /// Queues what has come of the last unit.
    func flush(arrival: MediaTime) {
        hasPartialUnit = false
        // What comes next begins a unit.
        lastChunk = nil
        parser.flush { units.append($0, arrival: arrival) }
        discardedBytes = parser.discardedByteCount
    }

    /// The number of units that were too large since the last call.
    func takeOversizedUnits() -> UInt64 {
        defer { oversizedUnits = parser.discardedUnitCount }
        return parser.discardedUnitCount - oversizedUnits
    }

    /// Whether the last bytes are those of an access unit delimiter (ITU-T H.264, 7.3.2.4).
    private func endsWithDelimiter(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let end = bytes.count
        return end >= 6 && bytes[end - 2] == 9 && bytes[end - 6] == 0 && bytes[end - 5] == 0
            && (kind == .lengthPrefixed
                ? bytes[end - 4] == 0 && bytes[end - 3] == 2 : bytes[end - 4] == 0 && bytes[end - 3] == 1)
    }

    // MARK: Times

    /// Places a time of the stream on the clock of the capture: as early as the arrivals allow, and never after one.
    func place(_ time: Duration?, arrival: MediaTime) -> MediaTime {
        guard let time else { return arrival }
        let nanoseconds = time.nanoseconds
        if let origin {
            let placed = origin.advanced(by: time)
            let lag = arrival.nanoseconds(since: placed)
            // A jump of the scale, or a long pause of the sender, begins it again.
            if lag >= 0, lag < 2_000_000_000 { return placed }
        }
        origin = arrival.advanced(by: .nanoseconds(nanoseconds == .min ? .max : -nanoseconds))
        return arrival
    }
}
