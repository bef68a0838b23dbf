import VideoCapturing

/// Converts the capture times of one track to the file's milliseconds, counted from the file's first packet.
struct WebMClock {
    private var last: Int64 = -1
    private var lastElapsed: Int64 = 0
    /// The end of the last picture in milliseconds, fractions included: the time of its capture, not rounded,
    /// and its duration.
    private(set) var end: Double = 0

    /// The time of a packet: the nearest millisecond, never before the last packet's.
    ///
    /// Two that are nearest to the same millisecond are set apart by one, since programs that read the file may refuse a
    /// second picture at one time, as ffmpeg's encoders do. More of them share the time, which Matroska allows, so that
    /// none is ever more than a millisecond and a half from the truth.
    func timestamp(of packet: MediaPacket, since start: MediaTime) -> Int64 {
        let elapsed = max(0, (packet.timestamp - start).nanoseconds)
        let nearest = (elapsed / 500_000 + 1) / 2
        return nearest == last ? last + 1 : max(nearest, last)
    }

    /// Notes that the packet is in the file under that time.
    mutating func advance(to time: Int64, _ packet: MediaPacket, since start: MediaTime) {
        let elapsed = max(0, (packet.timestamp - start).nanoseconds)
        // A packet that does not know its duration is shown as long as the one before it.
        let known = packet.duration.nanoseconds
        let duration = known > 0 ? known : max(0, elapsed - lastElapsed)
        last = time
        lastElapsed = elapsed
        end = max(end, Double(elapsed) / 1e6 + Double(duration) / 1e6)
    }
}
