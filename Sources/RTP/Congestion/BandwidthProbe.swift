/// A short burst above the target rate, which shows at once whether the link takes more; made of the packets that wait, and
/// of padding when these do not suffice.
package struct BandwidthProbe: Hashable, Sendable {
    /// Its number, 1 to 255, for what is sent of it.
    package var number: UInt8
    /// The rate at which it is sent, in bits per second.
    package var bitrate: Int
    /// The bytes that are sent, without the overhead of IP and UDP.
    package var bytes: Int

    /// Long enough to measure a rate by packets of a millisecond's precision.
    static let duration = 0.03
    static let minimumBytes = 6000

    init(number: UInt8, bitrate: Double) {
        self.number = number
        self.bitrate = Int(bitrate)
        bytes = max(BandwidthProbe.minimumBytes, Int(bitrate / 8 * BandwidthProbe.duration))
    }
}

/// What has become of a probe. Times are milliseconds.
struct ProbeResult {
    let probe: BandwidthProbe
    private var sent = Span()
    private var received = Span()
    private var bytesSent = 0

    private struct Span {
        var first = Double.infinity
        var last = -Double.infinity
        var bytes = 0
        var firstBytes = 0
        var lastBytes = 0
        var count = 0

        mutating func add(_ count: Int, at time: Double) {
            if time < first { (first, firstBytes) = (time, count) }
            if time >= last { (last, lastBytes) = (time, count) }
            bytes += count
            self.count += 1
        }
    }

    init(_ probe: BandwidthProbe) { self.probe = probe }

    mutating func addSent(_ bytes: Int) { bytesSent += bytes }

    mutating func addReceived(_ bytes: Int, sent sendTime: Double, arrival: Double) {
        sent.add(bytes, at: sendTime)
        received.add(bytes, at: arrival)
    }

    /// The rate that the link has shown, in bits per second; nil until four fifths of the probe have arrived.
    var bitrate: Double? {
        guard bytesSent >= probe.bytes, received.count >= 5, received.bytes * 5 >= bytesSent * 4 else { return nil }
        let sendInterval = sent.last - sent.first
        let receiveInterval = received.last - received.first
        guard sendInterval > 0, receiveInterval > 0 else { return nil }
        let sendRate = Double(sent.bytes - sent.lastBytes) * 8000 / sendInterval
        let receiveRate = Double(received.bytes - received.firstBytes) * 8000 / receiveInterval
        // Packets that were held up and arrive together prove nothing.
        guard receiveRate < 2 * sendRate else { return nil }
        // Where the link is full, a little less than that.
        return receiveRate < 0.9 * sendRate ? 0.95 * receiveRate : min(sendRate, receiveRate)
    }
}
