import FrameProcessing
import JPEGCodec
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Makes a part of a frame: passes its JPEG on, or rotates, converts and encodes it. For one thread at a time.
struct FrameEncoding {
    /// The result for a frame.
    enum Outcome {
        case part(FramePart)
        /// It shows the same as the previous part, which stands for it.
        case same
    }

    /// Made with the first frame that needs it: a camera that gives JPEG pictures needs none.
    private var encoder: JPEGEncoder?
    private let quality: Int
    private let processor = FrameProcessor(capacity: 4)
    private let passesThrough: Bool
    private let dropSameFrames: Int
    private let clock = MonotonicClock()
    private var wallClock = WallClock()
    private var pool = FramePartPool()
    private var last: FramePart?
    private var sameInRow = 0
    /// The number of the newest frame so far.
    private(set) var newestNumber: UInt64 = 0

    init(_ configuration: MJPEGServer.Configuration) {
        quality = configuration.quality
        passesThrough = configuration.passesThrough
        dropSameFrames = configuration.dropSameFrames
    }

    /// - Parameters:
    ///   - frame: the frame to show.
    ///   - number: counts the frames; one that is older than the newest so far is left out.
    ///   - mayDrop: whether a frame that shows the same as the previous one may be left out.
    ///   - now: the time.
    /// - Returns: nil for a frame that is too old.
    /// - Throws: `CodecError` for data that does not begin as a JPEG does, or if encoding fails; `CaptureError` if conversion fails.
    mutating func makePart(
        _ frame: VideoFrame, number: UInt64, mayDrop: Bool, at now: MediaTime
    ) throws -> Outcome? {
        guard number > newestNumber else { return nil }
        newestNumber = number
        let mayDrop = mayDrop && last != nil && sameInRow < dropSameFrames
        if mayDrop, frame.isRepeat || frame.damage?.isEmpty == true { return same }
        return try makePart(frame, at: now) { $0.makePart($1, &$2, mayDrop: mayDrop) }
    }

    /// A part of a frame for a request alone, whatever its place among those of the stream.
    ///
    /// - Throws: as ``makePart(_:number:mayDrop:at:)``.
    mutating func makeSnapshot(_ frame: VideoFrame, at now: MediaTime) throws -> FramePart? {
        let outcome = try makePart(frame, at: now) { encoding, jpeg, information in
            encoding.finish(&information)
            return .part(encoding.pool.makePart(jpeg, information))
        }
        guard case .part(let part)? = outcome else { return nil }
        return part
    }

    /// - Parameter make: makes the part of the bytes of a JPEG.
    private mutating func makePart(
        _ frame: VideoFrame, at now: MediaTime,
        _ make: (inout FrameEncoding, UnsafeRawBufferPointer, inout FrameInformation) -> Outcome
    ) throws -> Outcome? {
        var information = FrameInformation()
        information.timestamp = frame.timestamp
        information.encodeBegin = now
        information.dropped = sameInRow
        if let jpeg = FrameEncoding.jpeg(of: frame, passesThrough: passesThrough) {
            information.isPassedThrough = true
            information.width = jpeg.width
            information.height = jpeg.height
            return try jpeg.withRow(0, ofPlane: 0) { bytes in
                guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] == 0xD8 else {
                    throw CodecError(
                        .corruptData, operation: "pass a picture on", subject: "JPEG",
                        message: "The source's picture does not begin as a JPEG does; it was left out.")
                }
                return make(&self, bytes, &information)
            }
        }
        let picture = try FrameEncoding.prepare(frame, processor)
        information.width = picture.width
        information.height = picture.height
        var outcome: Outcome?
        try madeEncoder().encode(picture) { packet in
            outcome = packet.data.withUnsafeBytes { make(&self, $0, &information) }
        }
        return outcome
    }

    /// Whether the JPEG that a frame carries is passed on.
    static func passesOn(_ frame: VideoFrame, _ configuration: MJPEGServer.Configuration) -> Bool {
        jpeg(of: frame, passesThrough: configuration.passesThrough) != nil
    }

    private static func jpeg(of frame: VideoFrame, passesThrough: Bool) -> PixelBuffer? {
        passesThrough && frame.orientation == .up && frame.pixelAspect.isSquare ? frame.jpeg : nil
    }

    /// A part of a ``Placeholder``.
    mutating func makePlaceholder(_ picture: VideoFrame) throws -> FramePart? {
        var information = FrameInformation()
        information.timestamp = picture.timestamp
        information.encodeBegin = clock.now
        information.isOnline = false
        information.width = picture.width
        information.height = picture.height
        var part: FramePart?
        try madeEncoder().encode(picture) { packet in
            part = packet.data.withUnsafeBytes { bytes in
                finish(&information)
                return pool.makePart(bytes, information)
            }
        }
        last = nil
        return part
    }

    private mutating func madeEncoder() throws(CodecError) -> JPEGEncoder {
        if let encoder { return encoder }
        let made = try JPEGEncoder(quality: quality, passesThrough: false)
        encoder = made
        return made
    }

    /// The frame as the encoder takes it: upright, in square pixels, 4:2:0 or packed 4:2:2, and BT.601. The range may be either.
    private static func prepare(_ frame: VideoFrame, _ processor: FrameProcessor) throws(CaptureError) -> VideoFrame {
        let isTaken = JPEGEncoder.canEncode(frame)
        let isShown = frame.orientation == .up && frame.pixelAspect.isSquare
        if isShown, isTaken { return frame }
        return try processor.apply(
            FrameTransform(
                squaresPixels: true, appliesOrientation: true,
                pixelFormat: isTaken && frame.pixelFormat.planeCount > 1 ? frame.pixelFormat : .i420,
                color: isTaken ? frame.color : .jpeg),
            to: frame)
    }

    private mutating func makePart(
        _ jpeg: UnsafeRawBufferPointer, _ information: inout FrameInformation, mayDrop: Bool
    ) -> Outcome {
        if mayDrop, let last, last.hasSameJPEG(as: jpeg) { return same }
        sameInRow = 0
        finish(&information)
        let part = pool.makePart(jpeg, information)
        last = dropSameFrames > 0 ? part : nil
        return .part(part)
    }

    private var same: Outcome {
        mutating get {
            sameInRow += 1
            return .same
        }
    }

    private mutating func finish(_ information: inout FrameInformation) {
        information.encodeEnd = information.isPassedThrough ? information.encodeBegin : clock.now
        information.wallClock = wallClock.date(of: information.timestamp, now: information.encodeEnd)
    }
}

/// The date, in nanoseconds since 1970, at moments of the monotonic clock.
///
/// The system's clock is read at most once per second; if it is set, that shows up to a second later.
struct WallClock {
    /// The date at zero of the monotonic clock, and the time at which it was determined.
    private var origin: (date: Int64, foundAt: MediaTime)?

    /// The date now, read from the system.
    static var now: Int64 { wallClockTime().nanoseconds }

    /// The date at a moment of the monotonic clock, on which it is `now`; the present date where the moment is absurd.
    mutating func date(of moment: MediaTime, now: MediaTime) -> Int64 {
        if let origin, now >= origin.foundAt, now - origin.foundAt < .seconds(1) {
            return WallClock.date(origin.date, at: moment) ?? WallClock.now
        }
        let date = WallClock.now
        let found = date - now.nanoseconds
        origin = (found, now)
        return WallClock.date(found, at: moment) ?? date
    }

    private static func date(_ origin: Int64, at moment: MediaTime) -> Int64? {
        let (date, overflow) = origin.addingReportingOverflow(moment.nanoseconds)
        return overflow ? nil : date
    }
}
