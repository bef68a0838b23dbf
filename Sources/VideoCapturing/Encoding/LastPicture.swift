/// The picture that is shown at the end of an encoder's packets so far, to be encoded again where it would be shown too
/// briefly.
///
/// Containers such as MPEG-TS and IVF say of a packet only when it begins, and players show the last one for a frame
/// interval: of a still screen, which gives a frame only when it changes, all of the time after the last change would be
/// missing from the file.
struct LastPicture {
    /// The last frame that was given to the encoder.
    private var frame: VideoFrame?
    /// The time of the last frame of which there is a packet, or will be.
    private var encodedTime: MediaTime?
    /// The time between the last two of these.
    private var interval: Duration?
    /// How long a packet is presented; nil before the first.
    private var duration: Duration?
    /// Whether the encoder gives packets later than with their frames. Otherwise a frame without a packet was left out.
    private var isDelayed = false

    /// Takes a packet that came with a frame.
    mutating func add(_ packet: MediaPacket, with frame: VideoFrame) {
        if packet.duration > .zero { duration = packet.duration }
        if packet.timestamp != frame.timestamp { isDelayed = true }
        didEncode(packet.timestamp)
    }

    /// Takes a frame that was encoded.
    mutating func add(_ frame: VideoFrame) {
        self.frame = frame
        if isDelayed { didEncode(frame.timestamp) }
    }

    private mutating func didEncode(_ time: MediaTime) {
        interval = encodedTime.map { time - $0 }
        encodedTime = time
    }

    /// The last frame again, shortly before `end`; nil where the last packet ends within a frame of it.
    func makeRepeat(until end: MediaTime) -> VideoFrame? {
        guard let frame, let encodedTime, let duration = duration ?? frame.estimatedFrameRate?.frameInterval,
            duration > .zero
        else { return nil }
        let length = min(duration, LastPicture.longestLength)
        // Players show the last picture of an even source for its interval. The mean interval of an uneven one is no length of
        // its last picture.
        let difference = interval.map { ($0 - duration).nanoseconds.magnitude }
        let isEven = difference.map { $0 < duration.nanoseconds.magnitude / 4 } ?? false
        let isTooShort = end - encodedTime > length + (isEven ? duration : length)
        let isTooLong = !isEven && encodedTime.advanced(by: duration) - end > length
        guard isTooShort || isTooLong else { return nil }
        let time = max(end.advanced(by: .zero - length), frame.timestamp.advanced(by: .milliseconds(1)))
        return time < end ? frame.repeated(at: time) : nil
    }

    private static let longestLength = Duration.milliseconds(40)
}
