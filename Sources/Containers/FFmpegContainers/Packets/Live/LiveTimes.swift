import PacketCapturing

/// Places the times of live streams on the clock of the capture.
///
/// A connection begins at the present, or where the last one has ended if that is later, and keeps the intervals of the
/// stream. Where its times jump, as when a sender begins again, they go on at the present; tracks that jump later follow the
/// first one.
struct LiveTimes {
    private struct Track {
        /// The last decode time on the stream's scale, and when it came.
        var own: MediaTime
        var arrival: MediaTime
        /// The nanoseconds to add.
        var offset: Int64
    }

    private var tracks: [TrackID: Track] = [:]
    /// The offset of the newest stretch; nil before the first packet of a connection.
    private var offset: Int64?
    /// The latest end of a packet that was placed.
    private var end: MediaTime?

    /// How far times may go back, and how much further than the clock they may step ahead.
    private static let longestStepBack = Duration.seconds(1)
    private static let longestStepAhead = Duration.seconds(10)

    /// The times of another connection have nothing to do with those before.
    mutating func beginConnection() {
        tracks = [:]
        offset = nil
    }

    /// Places a packet.
    ///
    /// - Parameter arrival: the present, by the clock of the capture.
    /// - Returns: the packet with times of that clock, and whether the stream begins again with it.
    mutating func place(_ packet: MediaPacket, arrival: MediaTime) -> (packet: MediaPacket, isRestart: Bool) {
        let own = packet.decodeTimestamp ?? packet.timestamp
        let known = tracks[packet.track]
        let jumps =
            known.map { track in
                let step = own - track.own
                return step < .zero - LiveTimes.longestStepBack
                    || step - (arrival - track.arrival) > LiveTimes.longestStepAhead
            } ?? false
        let used: Int64
        if jumps {
            used = follow(own, known?.offset, arrival)
        } else {
            used = known?.offset ?? offset ?? begin(own, arrival)
        }
        tracks[packet.track] = Track(own: own, arrival: arrival, offset: used)
        var placed = packet
        placed.timestamp = packet.timestamp.advanced(by: .nanoseconds(used))
        placed.decodeTimestamp = packet.decodeTimestamp?.advanced(by: .nanoseconds(used))
        let packetEnd = own.advanced(by: .nanoseconds(used)).advanced(by: packet.duration)
        end = end.map { max($0, packetEnd) } ?? packetEnd
        return (placed, jumps)
    }

    /// The offset of a track that has jumped: that of a track that has jumped before it, where that fits.
    private mutating func follow(_ own: MediaTime, _ current: Int64?, _ arrival: MediaTime) -> Int64 {
        if let offset, offset != current, let end {
            let lead = own.advanced(by: .nanoseconds(offset)) - end
            let longest = LiveTimes.longestStepAhead
            if (Duration.zero - longest)...longest ~= lead { return offset }
        }
        return begin(own, arrival)
    }

    /// Begins a stretch with a packet.
    private mutating func begin(_ own: MediaTime, _ arrival: MediaTime) -> Int64 {
        let made = (end.map { max($0, arrival) } ?? arrival).nanoseconds(since: own)
        offset = made
        return made
    }
}
