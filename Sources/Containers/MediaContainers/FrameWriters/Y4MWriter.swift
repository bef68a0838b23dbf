import VideoCapturing

/// Writes YUV4MPEG2 (`.y4m`), which most video tools read: one line of header, then I420 frames, each after
/// a line `FRAME`. Takes I420 only.
///
/// The format has one frame rate and no timestamps. By default each frame is written once, so frames that
/// came irregularly play at even intervals. With `keepsConstantRate` frames are repeated and skipped so that
/// the playing time is right.
public final class Y4MWriter: FrameWriter {
    private let file: OutputFile
    private let rate: FrameRate
    private let keepsConstantRate: Bool
    private let state = Locked(State())

    private struct State {
        var shape = FrameShape(.i420)
        var schedule = Schedule()
        var header = ByteBuilder(capacity: 128)
    }

    /// What keeps the rate constant.
    private struct Schedule {
        var start = MediaTime.zero
        var nextSlot: Int64 = 0
        var last: VideoFrame?
        var repeated: UInt64 = 0
        var skipped: UInt64 = 0
    }

    /// - Parameters:
    ///   - file: where header and frames go; `finish` closes it.
    ///   - rate: the rate in the header, exact.
    ///   - keepsConstantRate: whether frames are repeated and skipped to keep it.
    public init(_ file: OutputFile, rate: FrameRate, keepsConstantRate: Bool = false) {
        self.file = file
        self.rate = rate
        self.keepsConstantRate = keepsConstantRate
    }

    public var bytesWritten: Int64 { file.bytesWritten }

    /// Frames written once more to keep the rate.
    public var repeatedFrames: UInt64 { state.withLock { $0.schedule.repeated } }
    /// Frames left out to keep the rate.
    public var skippedFrames: UInt64 { state.withLock { $0.schedule.skipped } }

    public func writeFrame(_ frame: VideoFrame) throws {
        try state.withLock { state in
            let isFirst = !state.shape.isSet
            try state.shape.check(frame, path: file.path)
            if isFirst {
                state.schedule.start = frame.timestamp
                appendHeader(to: &state.header, frame)
                try file.write(state.header)
            }
            guard keepsConstantRate else {
                try add(frame, &state.header)
                return
            }
            // The slot whose time is nearest to the frame's.
            let elapsed = frame.timestamp - state.schedule.start
            let slot = rate.frameIndex(at: elapsed + rate.frameInterval / 2)
            guard slot >= state.schedule.nextSlot else {
                state.schedule.skipped += 1
                return
            }
            while state.schedule.nextSlot < slot, let last = state.schedule.last {
                try add(last, &state.header)
                state.schedule.nextSlot += 1
                state.schedule.repeated += 1
            }
            try add(frame, &state.header)
            state.schedule.nextSlot = slot + 1
            state.schedule.last = frame
        }
    }

    public func finish() throws {
        state.withLock { $0.schedule.last = nil }
        try file.close()
    }

    private func add(_ frame: VideoFrame, _ header: inout ByteBuilder) throws(MediaFileError) {
        header.removeAll()
        header.append(text: "FRAME\n")
        try file.write(header)
        try file.writePixels(of: frame.buffer)
        try file.endRecord()
    }

    /// `C420jpeg` says that chroma lies in the middle of its four pixels. That is where averaging two by two
    /// pixels puts it, which is how pictures become I420 here; cameras do not say, and FFmpeg writes the
    /// same. `C420mpeg2` would claim that it lies at the left edge, as in broadcast video.
    private func appendHeader(to header: inout ByteBuilder, _ frame: VideoFrame) {
        header.append(text: "YUV4MPEG2 W\(frame.width) H\(frame.height) F\(rate.frames):\(rate.seconds) Ip A1:1")
        header.append(text: " C420jpeg XYSCSS=420JPEG XCOLORRANGE=")
        header.append(text: frame.color.range == .full ? "FULL\n" : "LIMITED\n")
    }
}
