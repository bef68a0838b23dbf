import CLibAV
import MediaContainers
import VideoCapturing

/// Reads the pictures of any video or picture file with FFmpeg: MP4, QuickTime, WebM, Matroska, AVI, GIF, PNG, JPEG
/// and many more, and sequences of pictures by a pattern.
///
/// Hand `FrameReaderFactory.ffmpeg` to whatever opens files:
/// ```swift
/// let capture = FileCapturer(path: "holiday.mp4", readers: [.ffmpeg])
/// ```
/// Pictures in 4:2:0 are the decoder's own, lent without a copy until the last holder lets go, even when the reader is
/// gone. Others are converted: luma and chroma of any sampling and depth, and grey, to I420, in the file's own range;
/// RGB and palettes to ARGB.
///
/// Times count from the start of the video stream and strictly increase: what the file repeats or turns back is moved
/// by a nanosecond. Damaged pictures are left out and counted. Of a file that is cut off the whole pictures come, then
/// `corruptData`.
///
/// A file can make FFmpeg open nothing else, neither files nor addresses. The library's messages on standard error are
/// turned off for the whole process, and its largest allocation limited to 512 MiB, when the first reader is made.
///
/// Not to be used from two threads at once.
public final class FFmpegReader: FrameReader {
    /// The most pixels of a picture that are decoded: 8192 × 4320.
    public static let maximumPixelCount = 8192 * 4320

    public let format: VideoFormat
    public private(set) var color: ColorDescription
    public let orientation: VideoOrientation
    public let isMirrored: Bool
    public let duration: Duration?
    public let estimatedFrameCount: Int64?
    public let sourceDescription: String

    private let request: FrameReaderRequest
    private let path: String
    private let shelf: FrameShelf
    private let maker: PictureMaker
    private var decoder: StreamDecoder
    /// Decoded and not yet given out: more than one only after a seek.
    private var ready: [DecodedFrame] = []
    /// Met while seeking; thrown once `ready` is empty.
    private var failure: MediaFileError?
    private var hasEnded = false
    /// Of decoders given up since, and of pictures that no decoder complained of.
    private var damagedBefore: UInt64 = 0

    /// Opens the file, and decodes up to the first picture to learn the real format.
    ///
    /// - Throws: `MediaFileError`: `formatUnsupported` for what is no video, has no decoder or is encrypted,
    ///   `corruptData` when no picture can be decoded, `limitExceeded` for pictures of more than
    ///   ``maximumPixelCount`` pixels, `notFound` when no picture fits a pattern.
    public init(_ request: FrameReaderRequest) throws {
        self.request = request
        path = request.file?.path ?? request.path
        let shelf = FrameShelf()
        self.shelf = shelf
        let decoder = try StreamDecoder(request, shelf: shelf)
        guard let first = try decoder.next() else {
            throw MediaFileError.corrupt(
                path,
                decoder.damaged == 0
                    ? "The file holds no picture; check that it was written to its end."
                    : "The file holds no picture that can be decoded (\(decoder.damaged) damaged); get it again.")
        }
        let facts = StreamFacts(decoder.demuxer, first.lent.frame, path: request.path)
        maker = PictureMaker(path: path, isStillCodec: decoder.isStillCodec, shelf: shelf)
        let frame = first.lent.frame.pointee
        try FFmpegReader.checkSize(width: frame.width, height: frame.height, path)
        guard let layout = PictureLayout(AVPixelFormat(frame.format)) else {
            throw MediaFileError.unsupported(path, "The pictures have a layout that is unknown.")
        }
        let pixelFormat: PixelFormat = layout == .rgb ? .argb : layout == .nv12 ? .nv12 : .i420
        format = VideoFormat(
            pixelFormat, width: Int(frame.width), height: Int(frame.height), estimatedFramesPerSecond: facts.rate)
        color =
            FrameColor(first.lent.frame, layout: layout, isStillCodec: decoder.isStillCodec)?.description
            ?? .assumed(for: pixelFormat)
        orientation = facts.display.orientation
        isMirrored = facts.display.isMirrored
        duration = facts.duration
        estimatedFrameCount = facts.frameCount
        sourceDescription = facts.description
        self.decoder = decoder
        ready.append(first)
    }

    public var damagedPackets: UInt64 { damagedBefore + decoder.damaged }
    public var canRewind: Bool { request.file?.isSeekable ?? true }
    public var canSeek: Bool { canRewind }

    public func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)? {
        guard !hasEnded else { return nil }
        // True until there is a picture, so that an error is the last thing that comes.
        hasEnded = true
        while let next = try takeDecoded() {
            let frame = next.lent.frame
            guard FFmpegReader.isSizeAllowed(width: frame.pointee.width, height: frame.pointee.height) else {
                damagedBefore += 1
                shelf.giveBack(next.lent)
                continue
            }
            let picture = try maker.makePicture(next.lent)
            color = picture.color
            hasEnded = false
            return (picture.buffer, next.time)
        }
        return nil
    }

    /// Goes back to the first picture: the file is opened anew.
    public func rewind() throws {
        if let file = request.file { try file.rewind() }
        discardReady()
        let reopened = try StreamDecoder(request, shelf: shelf)
        damagedBefore += decoder.damaged
        decoder = reopened
        hasEnded = false
    }

    /// Goes by the index of MP4, QuickTime, Matroska, WebM and AVI to the key frame before and decodes from there; of
    /// other files from the beginning.
    public func seek(to time: Duration) throws {
        guard canSeek else {
            throw MediaFileError(
                .formatUnsupported, operation: "seek", path: path,
                message: "A pipe can only be read from front to back; save it as a file first.")
        }
        let time = max(.zero, time)
        let damaged = decoder.damaged
        let hasJumped = jump(to: time)
        decoder.forgetDamage(since: damaged)
        if !hasJumped {
            try rewind()
            advance(to: time)
        }
        hasEnded = false
    }

    private func takeDecoded() throws(MediaFileError) -> DecodedFrame? {
        if !ready.isEmpty { return ready.removeFirst() }
        if let failure = failure.take() { throw failure }
        return try decoder.next()
    }

    /// As ``advance(to:)``, from a key frame near `time`; false when the index does not lead to the right picture.
    private func jump(to time: Duration) -> Bool {
        // Pictures before a key frame may come after it or reach over it, and an index may be wrong: then from earlier.
        let last = min(time, duration ?? time)
        for margin in [Duration.zero, .seconds(2), .seconds(10), .seconds(30)] where margin == .zero || margin < last {
            discardReady()
            guard decoder.jump(to: last - margin) else { return false }
            guard let first = try? decoder.next() else { continue }
            ready.append(first)
            guard first.time <= time else { continue }
            advance(to: time)
            // After a jump the decoder may leave out pictures and say nothing. One that is shown long enough proves itself.
            let isShownThen = ready.first.map { time < $0.time + $0.length } ?? false
            if !decoder.isSuspect, isShownThen || decoder.isSettled { return true }
        }
        return false
    }

    /// Decodes up to `time` and keeps the picture shown then, and the one after it that shows that it is.
    private func advance(to time: Duration) {
        do {
            while let next = try decoder.next() {
                if next.time <= time { discardReady() }
                ready.append(next)
                if next.time > time { return }
            }
        } catch {
            failure = error
        }
        if let last = ready.last, time >= last.time + last.length {
            let failure = failure
            discardReady()
            self.failure = failure
        }
    }

    private func discardReady() {
        for decoded in ready { shelf.giveBack(decoded.lent) }
        ready.removeAll(keepingCapacity: true)
        failure = nil
    }
}

extension FFmpegReader {
    static func isSizeAllowed(width: Int32, height: Int32) -> Bool {
        let sides = 1...Int32(VideoFormat.maximumSide)
        return sides.contains(width) && sides.contains(height) && Int(width) * Int(height) <= maximumPixelCount
    }

    /// Throws for pictures that are too large. A size of zero is one that only the pictures tell.
    static func checkSize(width: Int32, height: Int32, _ path: String) throws(MediaFileError) {
        guard width > 0, height > 0, !isSizeAllowed(width: width, height: height) else { return }
        throw MediaFileError(
            .limitExceeded, operation: "open the file", path: path,
            message: "The pictures have \(width)x\(height) pixels, of which at most \(maximumPixelCount) in all and "
                + "\(VideoFormat.maximumSide) on a side are decoded; scale them down first.")
    }
}
