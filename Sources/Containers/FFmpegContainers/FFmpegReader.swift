import CLibAV
import MediaContainers
import VideoCapturing

/// Reads the frames of any video or image file with FFmpeg: MP4, QuickTime, WebM, Matroska, AVI, GIF, PNG, JPEG
/// and many more, and image sequences by a pattern.
///
/// Pass `FrameReaderFactory.ffmpeg` to the API that opens files:
/// ```swift
/// let capture = FileCapturer(path: "holiday.mp4", readers: [.ffmpeg])
/// ```
/// Frames in 4:2:0 wrap the decoder's memory without a copy until they are released, even after the reader is. Others are
/// converted: luma and chroma of any sampling and depth, and gray, to I420, in the range of the file; RGB and palettes to
/// ARGB.
///
/// Times count from the start of the video stream and strictly increase. Where they go back, as in recordings that were
/// joined, they continue one frame after the last one, and so do they in MPEG-TS and MPEG-PS after a step of more than ten
/// seconds; ``discontinuities`` counts that. A repeated time is placed a nanosecond after the last one. Damaged frames are skipped and counted. A truncated file delivers its complete frames,
/// then `corruptData`.
///
/// A file cannot make FFmpeg open other files or addresses. The library's messages on standard error are
/// turned off for the whole process, and its largest allocation limited to 512 MiB, when the first reader is made.
///
/// Not thread-safe.
public final class FFmpegReader: FrameReader {
    /// The maximum number of pixels of a frame: 8192 × 4320.
    public static let maximumPixelCount = 8192 * 4320

    public let format: VideoFormat
    public private(set) var color: ColorDescription
    public private(set) var pixelAspect: PixelAspect
    public private(set) var isInterlaced: Bool
    public private(set) var statedFrameLength: Duration?
    public let orientation: VideoOrientation
    public let isMirrored: Bool
    public let duration: Duration?
    public let estimatedFrameCount: Int64?
    public let sourceDescription: String
    public let hasSound: Bool

    private let request: FrameReaderFactory.Request
    private let path: String
    private let pool: FramePool
    private let maker: PictureMaker
    private var decoder: StreamDecoder
    /// Frames that are decoded and not yet returned: more than one only after a seek.
    private var ready: [DecodedFrame] = []
    /// An error of seeking; thrown once `ready` is empty.
    private var failure: MediaFileError?
    private var hasEnded = false
    /// Damage counted by previous decoders, and frames rejected here.
    private var damagedBefore: UInt64 = 0

    /// Opens the file, and decodes the first frame to learn the actual format.
    ///
    /// - Parameter request: the file to open.
    /// - Throws: `MediaFileError`: `formatUnsupported` for a file that is not a video, has no decoder or is encrypted,
    ///   `corruptData` when no frame can be decoded, `limitExceeded` for frames of more than ``maximumPixelCount``
    ///   pixels, `notFound` when no file matches a pattern.
    public init(_ request: FrameReaderFactory.Request) throws {
        self.request = request
        path = request.file?.path ?? request.path
        let pool = FramePool()
        self.pool = pool
        let decoder = try StreamDecoder(request, pool: pool)
        guard let first = try decoder.next() else {
            throw MediaFileError.corrupt(
                path,
                decoder.damaged == 0
                    ? "The file holds no picture; check that it was written to its end."
                    : "The file holds no picture that can be decoded (\(decoder.damaged) damaged); get it again.")
        }
        let facts = StreamFacts(decoder.demuxer, first.lent.frame, path: request.path)
        maker = PictureMaker(path: path, isStillCodec: decoder.isStillCodec, frames: pool)
        let frame = first.lent.frame.pointee
        try FFmpegReader.checkSize(width: frame.width, height: frame.height, path)
        guard let layout = PictureLayout(AVPixelFormat(frame.format)) else {
            throw MediaFileError.unsupported(path, "The pictures have a layout that is unknown.")
        }
        let pixelFormat: PixelFormat = layout == .rgb ? .argb : layout == .nv12 ? .nv12 : .i420
        pixelAspect = decoder.demuxer.pixelAspect(of: first.lent.frame)
        isInterlaced = clibav_is_interlaced(first.lent.frame) != 0
        format = VideoFormat(
            pixelFormat, width: Int(frame.width), height: Int(frame.height), pixelAspect: pixelAspect,
            estimatedFramesPerSecond: facts.rate)
        color =
            FrameColor(first.lent.frame, layout: layout, isStillCodec: decoder.isStillCodec)?.description
            ?? .assumed(for: pixelFormat)
        orientation = facts.display.orientation
        isMirrored = facts.display.isMirrored
        duration = facts.duration
        estimatedFrameCount = facts.frameCount
        sourceDescription = facts.description
        hasSound = decoder.demuxer.hasSound
        self.decoder = decoder
        ready.append(first)
    }

    public var damagedPackets: UInt64 { damagedBefore + decoder.damaged }
    public var discontinuities: Int { decoder.clock.discontinuities }
    public var canRewind: Bool { request.file?.isSeekable ?? true }
    public var canSeek: Bool { canRewind }

    public func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)? {
        guard !hasEnded else { return nil }
        // True until there is a frame, so that nothing follows an error.
        hasEnded = true
        while let next = try takeDecoded() {
            let frame = next.lent.frame
            guard FFmpegReader.isSizeAllowed(width: frame.pointee.width, height: frame.pointee.height) else {
                damagedBefore += 1
                pool.restore(next.lent)
                continue
            }
            pixelAspect = decoder.demuxer.pixelAspect(of: frame)
            isInterlaced = clibav_is_interlaced(frame) != 0
            let picture = try maker.makePicture(next.lent)
            color = picture.color
            statedFrameLength = AllowedFormats.stateLengths(decoder.demuxer.name) ? next.length : nil
            hasEnded = false
            return (picture.buffer, next.time)
        }
        return nil
    }

    /// Goes back to the first frame: the file is opened again.
    public func rewind() throws {
        if let file = request.file { try file.rewind() }
        discardReady()
        let reopened = try StreamDecoder(request, pool: pool)
        damagedBefore += decoder.damaged
        decoder = reopened
        hasEnded = false
    }

    /// Goes to the preceding key frame by the index of MP4, QuickTime, Matroska, WebM and AVI, and decodes from there; of
    /// other files from the beginning.
    ///
    /// - Throws: `interrupted` where that is ended by `InputFile.interruptDescriptor`; seek again then.
    public func seek(to time: Duration) throws {
        guard canSeek else {
            throw MediaFileError(
                .formatUnsupported, operation: "seek", subject: path,
                message: "A pipe can only be read from front to back; save it as a file first.")
        }
        let time = max(.zero, time)
        let damaged = decoder.damaged
        let hasJumped = try jump(to: time)
        decoder.forgetDamage(since: damaged)
        if !hasJumped {
            try rewind()
            try advance(to: time)
        }
        hasEnded = false
    }

    private func takeDecoded() throws(MediaFileError) -> DecodedFrame? {
        if !ready.isEmpty { return ready.removeFirst() }
        if let failure = failure.take() { throw failure }
        do {
            return try decoder.next()
        } catch {
            if error.code == .interrupted { hasEnded = false }
            throw error
        }
    }

    /// As ``advance(to:)``, from a key frame near `time`; false when the index does not lead to the right frame.
    private func jump(to time: Duration) throws(MediaFileError) -> Bool {
        // Frames before a key frame may follow it or reference it, and an index may be wrong: then from an earlier one.
        let last = min(time, duration ?? time)
        for margin in [Duration.zero, .seconds(2), .seconds(10), .seconds(30)] where margin == .zero || margin < last {
            discardReady()
            guard decoder.jump(to: last - margin) else { return false }
            guard let first = try? decoder.next() else { continue }
            ready.append(first)
            guard first.time <= time else { continue }
            try advance(to: time)
            // After a jump the decoder may silently skip frames. One that is shown at `time` is the right one.
            let isShownThen = ready.first.map { time < $0.time + $0.length } ?? false
            if !decoder.isSuspect, isShownThen || decoder.isSettled { return true }
        }
        return false
    }

    /// Decodes up to `time` and keeps the frame shown then, and the one after it that proves it.
    private func advance(to time: Duration) throws(MediaFileError) {
        do {
            while let next = try decoder.next() {
                if next.time <= time { discardReady() }
                ready.append(next)
                if next.time > time { return }
                try request.file?.checkInterruption()
            }
        } catch {
            if error.code == .interrupted { throw error }
            failure = error
        }
        if let last = ready.last, time >= last.time + last.length {
            let failure = failure
            discardReady()
            self.failure = failure
        }
    }

    private func discardReady() {
        for decoded in ready { pool.restore(decoded.lent) }
        ready.removeAll(keepingCapacity: true)
        failure = nil
    }
}

extension FFmpegReader {
    static func isSizeAllowed(width: Int32, height: Int32) -> Bool {
        let sides = 1...Int32(VideoFormat.maximumSide)
        return sides.contains(width) && sides.contains(height) && Int(width) * Int(height) <= maximumPixelCount
    }

    /// Throws for frames that are too large. A size of zero is unknown until the first frame.
    static func checkSize(width: Int32, height: Int32, _ path: String) throws(MediaFileError) {
        guard width > 0, height > 0, !isSizeAllowed(width: width, height: height) else { return }
        throw tooLarge(PixelSize(width: Int(width), height: Int(height)), path)
    }

    static func tooLarge(_ size: PixelSize, _ path: String) -> MediaFileError {
        MediaFileError(
            .limitExceeded, operation: "open the file", subject: path,
            message:
                "The pictures have \(size.width)x\(size.height) pixels, of which at most \(maximumPixelCount) in all "
                + "and \(VideoFormat.maximumSide) on a side are decoded; scale them down first.")
    }
}

extension FrameReaderFactory {
    /// Opens any file that FFmpeg can read, its sound too; see ``FFmpegReader``. Returns nil without consuming bytes when it does not
    /// recognize the first bytes.
    public static let ffmpeg = FrameReaderFactory(name: "FFmpeg") { request in
        if let file = request.file, try file.peek(1, { $0.count }) > 0, try InputProbe.demuxer(for: file) == nil {
            if let error = UnreadableKind.error(of: file) { throw error }
            return nil
        }
        do {
            return try FFmpegReader(request)
        } catch let error as MediaFileError where [.formatUnsupported, .corruptData].contains(error.code) {
            throw request.file.flatMap(UnreadableKind.error) ?? error
        }
    }.withSound { request in
        do {
            return try FFmpegSoundReader(request)
        } catch let error as MediaFileError where error.code == .formatUnsupported {
            return nil
        }
    }
}

extension MediaFileError {
    static func unsupported(_ path: String, _ message: String) -> MediaFileError {
        MediaFileError(.formatUnsupported, operation: "open the file", subject: path, message: message)
    }

    static func corrupt(_ path: String, _ message: String) -> MediaFileError {
        MediaFileError(.corruptData, operation: "read the file", subject: path, message: message)
    }

    static func outOfMemory(_ path: String) -> MediaFileError {
        MediaFileError(
            .system, operation: "decode the file", subject: path, errno: ENOMEM,
            message: "The machine has no memory left for the pictures; close other programs or use a smaller file.")
    }
}
