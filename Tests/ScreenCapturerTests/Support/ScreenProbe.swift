import VideoCapturing

/// Keeps the frames of a capture with a copy of their pixels as they came. Safe to use from any thread.
final class ScreenProbe: VideoCaptureConsumer {
    struct Shot {
        var frame: VideoFrame
        /// All samples, packed, at the time when the frame came.
        var bytes: [UInt8]
        var arrival: MediaTime

        var isIntact: Bool { packedBytes(of: frame.buffer) == bytes }
        /// Of an ARGB frame.
        var picture: Picture { Picture(argb: bytes, width: frame.width, height: frame.height) }
    }

    private let contents = Locked<[Shot]>([])

    var shots: [Shot] { contents.withLock { $0 } }
    var count: Int { contents.withLock { $0.count } }
    var last: Shot? { contents.withLock { $0.last } }

    func consumeFrame(_ frame: VideoFrame) {
        let shot = Shot(frame: frame, bytes: packedBytes(of: frame.buffer), arrival: MonotonicClock().now)
        contents.withLock { $0.append(shot) }
        contents.wakeAll()
    }

    /// Blocks until the condition holds; false when it does not within `limit`.
    func wait(within limit: Duration = .seconds(60), until condition: ([Shot]) -> Bool) -> Bool {
        contents.wait(until: MonotonicClock().now.advanced(by: limit)) { condition($0) ? () : nil } != nil
    }

    /// Blocks until `count` more frames have come; false when `limit` has passed before.
    func waitForMore(_ count: Int, within limit: Duration = .seconds(60)) -> Bool {
        let goal = self.count + count
        return wait(within: limit) { $0.count >= goal }
    }

    /// Blocks until the newest frame shows `picture`. What is wrong with it when it never does; nil when it does.
    func fault(_ picture: Picture, as format: PixelFormat = .argb, within limit: Duration = .seconds(60)) throws
        -> String?
    {
        let wanted = try picture.packed(as: format)
        var seen = -1
        let hasCome = wait(within: limit) { shots in
            // A frame that was looked at needs no second look.
            if shots.count == seen { return false }
            seen = shots.count
            guard let last = shots.last else { return false }
            return last.frame.width == picture.width && last.frame.height == picture.height
                && last.frame.pixelFormat == format && last.bytes == wanted
        }
        if hasCome { return nil }
        guard let last else { return "no frame came" }
        let shape = "\(last.frame.pixelFormat) \(last.frame.width)x\(last.frame.height)"
        guard shape == "\(format) \(picture.width)x\(picture.height)" else { return "the last frame is \(shape)" }
        let places = wanted.indices.filter { wanted[$0] != last.bytes[$0] }
        guard let first = places.first else { return nil }
        var text = "\(places.count) of \(wanted.count) bytes differ, first at \(first): "
        text += "\(last.bytes[first]) in place of \(wanted[first])"
        if format == .argb, let box = last.picture.changes(from: picture) {
            text += "; within \(box)"
        }
        return text
    }
}

extension ScreenProbe {
    /// What is wrong with the order of the frames; nil when nothing is.
    var disorder: String? {
        for (last, next) in zip(shots, shots.dropFirst()) {
            if next.frame.timestamp <= last.frame.timestamp {
                return "the time goes from \(last.frame.timestamp) to \(next.frame.timestamp)"
            }
            if next.frame.sequenceNumber <= last.frame.sequenceNumber {
                return "the number goes from \(last.frame.sequenceNumber) to \(next.frame.sequenceNumber)"
            }
        }
        return nil
    }
}
