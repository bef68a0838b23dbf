import Digests
import VideoCapturing

/// Counts frames and releases them. Safe to use from any thread.
public final class NullConsumer: VideoCaptureConsumer {
    private let frames = Locked<UInt64>(0)

    public init() {}

    /// The frames taken so far.
    public var count: UInt64 { frames.withLock { $0 } }

    public func consumeFrame(_ frame: VideoFrame) {
        frames.withLock { $0 += 1 }
        frames.wakeAll()
    }

    /// Blocks until `count` frames have come in all; false when `timeout` has passed before.
    public func waitForFrames(_ count: UInt64, timeout: Duration = .seconds(60)) -> Bool {
        frames.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0 >= count ? () : nil } != nil
    }
}

/// Takes its time over every frame, and notes whether calls overlap. Safe to use from any thread.
public final class SlowConsumer: VideoCaptureConsumer {
    private struct Contents {
        var count = 0
        var running = 0
        var haveOverlapped = false
    }

    /// How long each call takes.
    public let delay: Duration
    private let contents = Locked(Contents())
    private let signal = ManualResetEvent()

    public init(delay: Duration) {
        self.delay = delay
    }

    /// Calls that have returned.
    public var count: Int { contents.withLock { $0.count } }

    /// Whether a call is running now.
    public var isRunning: Bool { contents.withLock { $0.running > 0 } }

    /// Whether two calls ever ran at once, which no capture may do.
    public var haveCallsOverlapped: Bool { contents.withLock { $0.haveOverlapped } }

    public func consumeFrame(_ frame: VideoFrame) {
        contents.withLock { contents in
            contents.running += 1
            if contents.running > 1 { contents.haveOverlapped = true }
        }
        signal.wait(until: MonotonicClock().now.advanced(by: delay))
        contents.withLock { contents in
            contents.running -= 1
            contents.count += 1
        }
        contents.wakeAll()
    }

    /// Blocks until `count` calls have returned; false when `timeout` has passed before.
    public func waitForFrames(_ count: Int, timeout: Duration = .seconds(60)) -> Bool {
        contents.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0.count >= count ? () : nil } != nil
    }
}

/// Keeps the first frames of a capture, and counts the rest. Safe to use from any thread.
public final class RecordingConsumer: VideoCaptureConsumer {
    private struct Contents {
        var frames: [VideoFrame] = []
        var count = 0
    }

    /// The most frames that are kept.
    public let limit: Int
    private let contents = Locked(Contents())

    /// - Parameter limit: the most frames that are kept; later ones are only counted.
    public init(limit: Int = 1000) {
        self.limit = max(0, limit)
    }

    /// The frames that are kept, in the order in which they came.
    public var frames: [VideoFrame] { contents.withLock { $0.frames } }

    /// The frames that came, kept or not.
    public var count: Int { contents.withLock { $0.count } }

    public func consumeFrame(_ frame: VideoFrame) {
        contents.withLock { contents in
            contents.count += 1
            if contents.frames.count < limit { contents.frames.append(frame) }
        }
        contents.wakeAll()
    }

    /// Blocks until `count` frames have come in all; false when `timeout` has passed before.
    public func waitForFrames(_ count: Int, timeout: Duration = .seconds(60)) -> Bool {
        contents.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0.count >= count ? () : nil } != nil
    }

    /// Releases all frames, and counts from zero again.
    public func removeAll() {
        // The frames end after the lock, since their end may run a driver's code.
        _ = contents.withLock { contents in
            let frames = contents.frames
            contents = Contents()
            return frames
        }
    }
}

/// Sums up the pixels of all frames, and of each one, without keeping any. Safe to use from any thread.
public final class DigestConsumer: VideoCaptureConsumer {
    private struct Contents {
        var all = MD5()
        var each: [String] = []
        var count = 0
    }

    /// The most frames whose own sum is kept.
    public let limit: Int
    private let contents = Locked(Contents())

    /// - Parameter limit: the most frames whose own sum is kept; all count for ``digest``.
    public init(limit: Int = 1000) {
        self.limit = max(0, limit)
    }

    /// The MD5 sum of the unpadded pixels of all frames, as 32 hexadecimal digits: that of the raw video file
    /// which they would make.
    public var digest: String { contents.withLock { $0.all.hexDigest } }

    /// The MD5 sum of each frame's unpadded pixels.
    public var frameDigests: [String] { contents.withLock { $0.each } }

    /// The frames taken so far.
    public var count: Int { contents.withLock { $0.count } }

    public func consumeFrame(_ frame: VideoFrame) {
        contents.withLock { contents in
            contents.all.update(frame.buffer)
            if contents.each.count < limit { contents.each.append(MD5.hexDigest(of: frame.buffer)) }
            contents.count += 1
        }
        contents.wakeAll()
    }

    /// Blocks until `count` frames have come in all; false when `timeout` has passed before.
    public func waitForFrames(_ count: Int, timeout: Duration = .seconds(60)) -> Bool {
        contents.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0.count >= count ? () : nil } != nil
    }
}

extension MD5 {
    /// Adds the samples of a frame, row after row and plane after plane, without padding: the bytes that a raw video
    /// file would hold.
    package mutating func update(_ buffer: PixelBuffer) {
        for (plane, shape) in buffer.planes.enumerated() {
            for row in 0..<shape.rows {
                buffer.withRow(row, ofPlane: plane) { update($0) }
            }
        }
    }

    /// The checksum of one frame.
    package static func hexDigest(of buffer: PixelBuffer) -> String {
        var sum = MD5()
        sum.update(buffer)
        return sum.hexDigest
    }
}
