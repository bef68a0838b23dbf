import Digests
import VideoCapturing

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
    public func waitForFrames(_ count: Int, timeout: Duration = .seconds(5)) -> Bool {
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
