import CaptureCore

extension RTPSender {
    /// The bytes that ``writeReport(into:at:)`` and ``writeGoodbye(into:at:)`` need at most.
    package static let maximumReportSize = 320

    /// Writes a compound of a sender report and the canonical name (RFC 3550, 6.4.1, 6.5): to be sent once a second, the
    /// first soon after the first packet, since receivers need it to play sound and pictures together.
    ///
    /// - Parameters:
    ///   - buffer: at least ``maximumReportSize`` bytes.
    ///   - now: the time; the report maps it to the wall clock and to the stream's timestamps.
    /// - Returns: the bytes written; 0 as long as nothing was sent.
    package func writeReport(into buffer: UnsafeMutableRawBufferPointer, at now: MediaTime) -> Int {
        guard hasSent else { return 0 }
        let ntp = reports.clock.time(at: now)
        reports.didSend(ntp)
        buffer[0] = 0x80
        buffer[1] = 200
        buffer.write(UInt16(6), at: 2)
        buffer.write(configuration.ssrc, at: 4)
        buffer.write(UInt32(ntp >> 32), at: 8)
        buffer.write(UInt32(truncatingIfNeeded: ntp), at: 12)
        buffer.write(timeline.timestamp(at: now), at: 16)
        buffer.write(UInt32(truncatingIfNeeded: counters.packets), at: 20)
        buffer.write(UInt32(truncatingIfNeeded: counters.payloadBytes), at: 24)
        return 28 + writeName(into: UnsafeMutableRawBufferPointer(rebasing: buffer[28...]))
    }

    /// As ``writeReport(into:at:)``, with the message that the stream ends (RFC 3550, 6.6); 0 as long as nothing was sent.
    package func writeGoodbye(into buffer: UnsafeMutableRawBufferPointer, at now: MediaTime) -> Int {
        let size = writeReport(into: buffer, at: now)
        guard size > 0 else { return 0 }
        buffer[size] = 0x81
        buffer[size + 1] = 203
        buffer.write(UInt16(1), at: size + 2)
        buffer.write(configuration.ssrc, at: size + 4)
        return size + 8
    }

    /// One chunk with one item, which ends with a zero byte at least.
    private func writeName(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let name = reports.cname
        let size = (4 + 4 + 2 + name.count + 1 + 3) & ~3
        buffer[0] = 0x81
        buffer[1] = 202
        buffer.write(UInt16(size / 4 - 1), at: 2)
        buffer.write(configuration.ssrc, at: 4)
        buffer[8] = 1
        buffer[9] = UInt8(name.count)
        for (index, byte) in name.enumerated() { buffer[10 + index] = byte }
        for index in 10 + name.count..<size { buffer[index] = 0 }
        return size
    }
}

/// What a sender knows for its reports, and of those of its receiver.
struct ReportState {
    let clock: NTPClock
    let cname: [UInt8]
    private(set) var roundTripTime: Duration?
    /// The middle 32 bits of the times of the last reports, so that only an answer to one of them is measured.
    private var sent: (UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0)

    init(clock: NTPClock, cname: [UInt8]) {
        self.clock = clock
        self.cname = cname
    }

    mutating func didSend(_ ntp: UInt64) {
        sent = (UInt32(truncatingIfNeeded: ntp >> 16), sent.0, sent.1, sent.2)
    }

    /// Measures the round trip (RFC 3550, 6.4.1): since our report, less the time that the receiver had it.
    mutating func take(_ report: RTCPReceptionReport, at now: MediaTime) {
        let last = report.lastSenderReport
        guard last != 0, last == sent.0 || last == sent.1 || last == sent.2 || last == sent.3 else { return }
        let time = clock.shortTime(at: now) &- last &- report.delaySinceLastReport
        // What is below zero is the error of two clocks; a minute is no round trip.
        let units = Int64(Int32(bitPattern: time))
        guard units < 60 << 16 else { return }
        roundTripTime = .nanoseconds(max(0, units) * 1_000_000_000 >> 16)
    }
}
