import CapturerTestKit
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// The sample of `SourceCapturer`'s doc comment, at a rate and size for tests.
struct Gradient: FrameSource {
    let settings = CaptureSettings(format: VideoFormat(.nv12, width: 16, height: 8, estimatedFramesPerSecond: 200))
    var count = 0
    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        count += 1
        return try context.makeFrame(settings.format) { [count] pixels in
            pixels.fill(plane: 0) { column, row in UInt8(truncatingIfNeeded: column + row + count) }
            pixels.fill(plane: 1, with: 128)
        }
    }
}

/// Ends after some frames, and begins anew at each start. With `period` its frames have times of their own.
struct FiniteSource: FrameSource {
    var settings = CaptureSettings(format: VideoFormat(.i420, width: 16, height: 8, estimatedFramesPerSecond: 200))
    var pacing: FramePacing = .rate(200)
    var frameCount = 10
    var index = 0

    init(frameCount: Int = 10, pacing: FramePacing = .rate(200)) {
        self.frameCount = frameCount
        self.pacing = pacing
    }

    mutating func start(_ context: FrameContext) { index = 0 }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        guard index < frameCount else { return nil }
        defer { index += 1 }
        return try context.makeFrame(
            settings.format.pixelFormat, width: 16, height: 8,
            timestamp: MediaTime(nanoseconds: 77_000_000_000 + Int64(index) * 5_000_000)
        ) { TestPicture.fill($0, index: index) }
    }
}

/// As fast as it is taken.
struct UnpacedSource: FrameSource {
    let settings = CaptureSettings(format: VideoFormat(.bgra, width: 4, height: 2))
    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        try context.makeFrame(settings.format) { $0.fill(plane: 0, with: 7) }
    }
}

/// A device that is waited for, as a camera is: a thread that writes a byte every 10 ms into a pipe.
struct PollingSource: FrameSource {
    let settings = CaptureSettings(format: VideoFormat(.yuy2, width: 16, height: 8, estimatedFramesPerSecond: 100))
    var pacing: FramePacing { .device }
    private var ends: [Int32] = [-1, -1]
    private let unplug = ManualResetEvent()
    private var device: CaptureThread?

    mutating func open() throws {
        guard pipe(&ends) == 0 else {
            throw CaptureError(.system, operation: "open", errno: errno, message: "There is no pipe.")
        }
        unplug.reset()
        device = try CaptureThread(name: "device") { [ends, unplug] in
            while !unplug.isRaised {
                unplug.wait(until: MonotonicClock().now.advanced(by: .milliseconds(10)))
                _ = write(ends[1], "x", 1)
            }
        }
    }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        guard context.waitForInput(ends[0]) == .ready else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        // Several bytes are frames that nobody took in time; while stopped, that is no loss.
        let count = read(ends[0], &bytes, bytes.count)
        var frame = try context.makeFrame(settings.format) { $0.fill(plane: 0, with: 7) }
        frame.lostBefore = UInt64(max(0, count - 1))
        frame.timestamp = context.now
        return frame
    }

    mutating func close() {
        unplug.raise()
        device?.join()
        for end in ends { Glibc.close(end) }
    }
}
