import VideoCapturing

/// Plays the script of a ``FaultInjectingCapturer``.
struct FaultSource: FrameSource {
    let settings: CaptureSettings
    let script: [Int: [FaultInjectingCapturer.Fault]]
    var openFailures: [CaptureError]
    var startFailures: [CaptureError]
    let frameCount: Int?
    /// Counts the calls that end a stall.
    let stallEnd: Locked<UInt64>

    /// The number of the next frame, over all starts.
    private var next = 0
    /// Where the pacing began, and with which frame.
    private var epoch: (time: MediaTime, index: Int)?
    private var burstLeft = 0

    init(
        settings: CaptureSettings, script: [Int: [FaultInjectingCapturer.Fault]], openFailures: [CaptureError],
        startFailures: [CaptureError], frameCount: Int?, stallEnd: Locked<UInt64>
    ) {
        self.settings = settings
        self.script = script
        self.openFailures = openFailures
        self.startFailures = startFailures
        self.frameCount = frameCount
        self.stallEnd = stallEnd
    }

    var pacing: FramePacing { .device }

    mutating func open() throws {
        if !openFailures.isEmpty { throw openFailures.removeFirst() }
    }

    mutating func start(_ context: FrameContext) throws {
        if !startFailures.isEmpty { throw startFailures.removeFirst() }
        epoch = nil
        burstLeft = 0
    }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        let index = next
        if let frameCount, index >= frameCount { return nil }
        let faults = script[index] ?? []
        next += 1
        var shape = PictureShape(settings.format)
        var shift = Duration.zero
        var lost: UInt64 = 0
        var corrupt: UInt64 = 0
        for fault in faults {
            switch fault {
            case .late(let duration): shift += duration
            case .early(let duration): shift -= duration
            case .burst(let count): burstLeft = count
            case .gap(let count): lost += count
            case .corrupt(let count): corrupt += count
            case .failure(let error): throw error
            case .size(let width, let height): (shape.width, shape.height) = (width, height)
            case .pixelFormat(let format): shape.pixelFormat = format
            case .padding(let bytes): shape.padding = bytes
            case .stall(let duration, let honoursStop): stall(for: duration, honoursStop: honoursStop, context)
            case .interruption(let reason, let duration):
                context.reportInterruption(reason)
                context.wait(until: context.now.advanced(by: duration))
                epoch = nil
            case .endOfStream: return nil
            }
        }
        let timestamp = awaitTime(of: index, shift: shift, context)
        var frame = try shape.makeFrame(index: index, context)
        frame.timestamp = timestamp
        frame.lostBefore = lost
        frame.corruptBefore = corrupt
        return frame
    }

    /// Waits until the frame is due, and gives the time that it says it was taken.
    private mutating func awaitTime(of index: Int, shift: Duration, _ context: FrameContext) -> MediaTime {
        guard let rate = settings.format.estimatedFramesPerSecond else { return context.now }
        let epoch = self.epoch ?? (context.now, index)
        self.epoch = epoch
        let due = epoch.time.advanced(by: rate.time(ofFrame: Int64(index - epoch.index)) + shift)
        if burstLeft > 1 {
            burstLeft -= 1
            return min(due, context.now)
        }
        context.wait(until: due)
        return due
    }

    private mutating func stall(for duration: Duration?, honoursStop: Bool, _ context: FrameContext) {
        if honoursStop {
            context.wait(until: duration.map { context.now.advanced(by: $0) } ?? MediaTime(nanoseconds: .max))
        } else {
            let limit = duration.map { MonotonicClock().now.advanced(by: $0) }
            _ = stallEnd.wait(until: limit) { ends -> Void? in
                guard ends > 0 else { return nil }
                ends -= 1
                return ()
            }
        }
        epoch = nil
    }
}

/// What a picture is to look like.
private struct PictureShape {
    var pixelFormat: PixelFormat
    var width: Int
    var height: Int
    /// Bytes between the rows of the first plane; nil for the pool's own layout.
    var padding: Int?

    init(_ format: VideoFormat) {
        pixelFormat = format.pixelFormat
        width = format.imageWidth
        height = format.imageHeight
    }

    func makeFrame(index: Int, _ context: FrameContext) throws -> SourceFrame {
        guard let padding else {
            return try context.makeFrame(pixelFormat, width: width, height: height) { pixels in
                TestPicture.fill(pixels, index: index)
            }
        }
        // Before memory is taken that would never be freed.
        try VideoFormat(pixelFormat, width: width, height: height).validate()
        var memory = PlaneList<PixelBuffer.PlaneMemory>()
        var blocks: [UInt] = []
        for plane in 0..<pixelFormat.planeCount {
            let rowBytes = pixelFormat.rowBytes(ofPlane: plane, width: width)
            let stride = rowBytes + (plane == 0 ? max(0, padding) : 0)
            let rows = pixelFormat.rows(ofPlane: plane, height: height)
            let block = UnsafeMutableRawBufferPointer.allocate(byteCount: stride * rows, alignment: 1)
            for row in 0..<rows {
                for column in 0..<stride {
                    block[row * stride + column] =
                        column < rowBytes
                        ? TestPicture.byte(plane: plane, column: column, row: row, index: index) : 0xEE
                }
            }
            memory.append(
                PixelBuffer.PlaneMemory(
                    base: UnsafeRawPointer(block.baseAddress!), byteCount: block.count, bytesPerRow: stride))
            blocks.append(UInt(bitPattern: block.baseAddress!))
        }
        let freed = blocks
        let buffer = try PixelBuffer(wrapping: memory, as: pixelFormat, width: width, height: height) {
            for block in freed { UnsafeMutableRawPointer(bitPattern: block)?.deallocate() }
        }
        return SourceFrame(buffer)
    }
}

extension FaultInjectingCapturer {
    /// Something that goes wrong at one frame of a ``FaultInjectingCapturer``.
    public enum Fault: Sendable, Hashable {
        /// The frame comes so much later than its time; its timestamp is the late one.
        case late(Duration)
        /// The frame comes so much before its time; its timestamp is the early one.
        case early(Duration)
        /// This frame and those that follow it, of this number in all, come at once.
        case burst(Int)
        /// The driver lost this number of frames before this one.
        case gap(UInt64)
        /// That many frames before this one were damaged and left out.
        case corrupt(UInt64)
        /// The source fails in place of the frame. Unlike other faults it is over with that: a restart goes on with
        /// the next frame.
        case failure(CaptureError)
        /// The frame has another size than the settings say.
        case size(width: Int, height: Int)
        /// The frame has another pixel format than the settings say.
        case pixelFormat(PixelFormat)
        /// The rows of the frame's first plane are this number of bytes further apart than needed, in memory of the frame's
        /// own.
        case padding(Int)
        /// The source hangs before the frame: for the given time, or until ``FaultInjectingCapturer/endStall()``; with
        /// `honoursStop` a stop ends it too.
        case stall(Duration?, honoursStop: Bool)
        /// Frames stop coming before this one for the given time, and the source says why.
        case interruption(CaptureState.InterruptionReason, Duration)
        /// There are no more frames; a restart goes on with the next.
        case endOfStream
    }
}

/// Pictures whose every byte is known from the number of the frame, so that a test can check all of them.
package enum TestPicture {
    /// The byte at a place of a plane in picture number `index`.
    package static func byte(plane: Int, column: Int, row: Int, index: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: column &* 3 &+ row &* 5 &+ plane &* 64 &+ index &* 7)
    }

    /// Writes picture number `index`.
    package static func fill(_ pixels: borrowing PixelWriter, index: Int) {
        for plane in pixels.planes.indices {
            pixels.fill(plane: plane) { column, row in byte(plane: plane, column: column, row: row, index: index) }
        }
    }

    /// Whether `buffer` is picture number `index`, to the last byte.
    package static func matches(_ buffer: PixelBuffer, index: Int) -> Bool {
        buffer.planes.enumerated().allSatisfy { plane, shape in
            (0..<shape.rows).allSatisfy { row in
                buffer.withRow(row, ofPlane: plane) { bytes in
                    bytes.indices.allSatisfy {
                        bytes[$0] == byte(plane: plane, column: $0, row: row, index: index)
                    }
                }
            }
        }
    }
}

/// A capture that works, but for the faults that a test has written into its script.
///
/// Its pictures are `TestPicture`s, numbered from 0 over all starts, and the script names faults by the number
/// of the frame. It paces itself by the clock at the rate of its format, as a device would. Safe to use from any
/// thread.
public final class FaultInjectingCapturer: VideoCapture {
    private let capture: SourceCapturer
    private let stallEnd: Locked<UInt64>

    /// - Parameters:
    ///   - format: size, pixel format and rate; without a rate frames come as fast as they are taken.
    ///   - script: the faults, by the number of the frame at which they happen.
    ///   - openFailures: what the first calls of `initCapture` throw, one each.
    ///   - startFailures: what the first calls of `startCapture` throw, one each.
    ///   - frameCount: the number of frames after which the stream ends; nil for never.
    ///   - clock: where time comes from.
    ///   - timeout: as for `SourceCapturer`.
    public init(
        format: VideoFormat = VideoFormat(.nv12, width: 16, height: 8, estimatedFramesPerSecond: 200),
        script: [Int: [FaultInjectingCapturer.Fault]] = [:], openFailures: [CaptureError] = [],
        startFailures: [CaptureError] = [],
        frameCount: Int? = nil, clock: any CaptureClock = MonotonicClock(), timeout: Duration = .seconds(10)
    ) {
        let stallEnd = Locked<UInt64>(0)
        self.stallEnd = stallEnd
        capture = SourceCapturer(
            FaultSource(
                settings: CaptureSettings(format: format, sourceName: "faults"), script: script,
                openFailures: openFailures, startFailures: startFailures, frameCount: frameCount, stallEnd: stallEnd),
            name: "faults", clock: clock, timeout: timeout)
    }

    /// Lets a source that hangs go on.
    public func endStall() {
        stallEnd.withLock { $0 += 1 }
        stallEnd.wakeAll()
    }

    public var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { capture.videoCaptureConsumer }
        set { capture.videoCaptureConsumer = newValue }
    }

    public var videoContentHint: VideoContentHint {
        get { capture.videoContentHint }
        set { capture.videoContentHint = newValue }
    }

    public func initCapture() throws(CaptureError) { try capture.initCapture() }
    public func startCapture() throws(CaptureError) { try capture.startCapture() }
    public func stopCapture() throws(CaptureError) { try capture.stopCapture() }
    public func releaseCapture() { capture.releaseCapture() }
    public var isCaptureStarted: Bool { capture.isCaptureStarted }
    public func captureSettings() -> CaptureSettings { capture.captureSettings() }
    public func adapt(to wants: CaptureWants) { capture.adapt(to: wants) }
    public var state: CaptureState { capture.state }
    public func stateChanges() -> AsyncStream<CaptureState.Change> { capture.stateChanges() }
    public var statistics: CaptureStatistics { capture.statistics }
    public var adjustable: (any AdjustableCapture)? { capture.adjustable }
    public var endOfLastFrame: MediaTime? { capture.endOfLastFrame }
}
