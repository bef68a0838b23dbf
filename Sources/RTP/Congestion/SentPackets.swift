import CaptureCore

/// The packets sent under each transport-wide sequence number, until feedback states their fate.
///
/// A ring of the last packets, which is allocated once. An answer to a packet counts once: some receivers
/// send their feedback twice, and a packet may be reported as missing before it arrives out of order.
struct SentPackets {
    /// The record of a packet.
    struct Record {
        var time = MediaTime.zero
        var bytes: UInt16 = 0
        var sequence: UInt16 = 0
        /// The number of the probe that it was part of; 0 for none.
        var probe: UInt8 = 0
        var state = State.none
    }

    enum State: UInt8 {
        case none, sent, missing, received
    }

    /// What a report on a packet means.
    enum Answer {
        /// It was not sent, or too long ago, or this is known.
        case nothing
        case missing
        /// - late: whether it had been reported as missing.
        case received(Record, late: Bool)
    }

    /// What IP and UDP add to each packet.
    static let overhead = 28

    private var records: [Record]

    /// - Parameter bitrate: the maximum: the ring holds two seconds of it, in packets of 600 bytes.
    init(bitrate: Int) {
        var count = 512
        while count < 4096, count * 600 * 8 < min(bitrate, 100_000_000) * 2 { count *= 2 }
        records = [Record](repeating: Record(), count: count)
    }

    mutating func add(_ sequence: UInt16, bytes: Int, at time: MediaTime, probe: UInt8) {
        records[Int(sequence) % records.count] = Record(
            time: time, bytes: UInt16(clamping: bytes + SentPackets.overhead), sequence: sequence, probe: probe,
            state: .sent)
    }

    mutating func answer(_ sequence: UInt16, hasArrived: Bool) -> Answer {
        let index = Int(sequence) % records.count
        let record = records[index]
        guard record.sequence == sequence else { return .nothing }
        switch (record.state, hasArrived) {
        case (.sent, false):
            records[index].state = .missing
            return .missing
        case (.sent, true), (.missing, true):
            records[index].state = .received
            return .received(record, late: record.state == .missing)
        default: return .nothing
        }
    }
}
