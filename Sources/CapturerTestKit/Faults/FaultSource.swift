import VideoCapturing

/// Plays the script of a ``FaultInjectingCapturer``.
struct FaultSource: FrameSource {
    let settings: CaptureSettings
    let script: [Int: [FrameFault]]
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
        settings: CaptureSettings, script: [Int: [FrameFault]], openFailures: [CaptureError],
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
        // Before memory is taken that nobody would free.
        try VideoFormat(pixelFormat, width: width, height: height).validate()
        var memory = PlaneList<PlaneMemory>()
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
                PlaneMemory(base: UnsafeRawPointer(block.baseAddress!), byteCount: block.count, bytesPerRow: stride))
            blocks.append(UInt(bitPattern: block.baseAddress!))
        }
        let freed = blocks
        let buffer = try PixelBuffer(wrapping: memory, as: pixelFormat, width: width, height: height) {
            for block in freed { UnsafeMutableRawPointer(bitPattern: block)?.deallocate() }
        }
        return SourceFrame(buffer)
    }
}
