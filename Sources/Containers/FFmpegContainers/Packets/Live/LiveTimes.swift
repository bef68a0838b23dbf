import PacketCapturing

/// Places the times of live streams on the clock of the capture.
///
/// A connection begins when its first packet arrived, or would have arrived at once, and keeps the intervals of the stream. What
/// it repeats of the connection before is squeezed: pictures that others need come a millisecond apart, and sound not at all.
/// Where its times jump, as when a sender begins again, they go on at the present; tracks that jump later follow the first one.
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
    /// The latest times of tracks by the clock; of those that have not come so far again in `repeated`.
    private var last: [TrackID: MediaTime] = [:]
    private var repeated: Set<TrackID> = []
    private var mayRepeat = false

    /// How far times may go back, and how much further than the clock they may step ahead.
    private static let longestStepBack = Duration.seconds(1)
    private static let longestStepAhead = Duration.seconds(10)

    /// The times of another connection have nothing to do with those before.
    ///
    /// - Parameter mayRepeat: whether it may begin with packets of the one before.
    mutating func beginConnection(mayRepeat: Bool) {
        tracks = [:]
        offset = nil
        self.mayRepeat = mayRepeat
        repeated = mayRepeat ? Set(last.keys) : []
    }

    /// Places a packet.
    ///
    /// - Parameters:
    ///   - arrival: by the clock of the capture.
    ///   - now: the present by that clock.
    ///   - isVideo: whether later packets need it.
    /// - Returns: the packet with times of that clock, nil where it is sound that is repeated; and whether the stream begins again
    ///   with it.
    mutating func place(
        _ packet: MediaPacket, arrival: MediaTime, now: MediaTime, isVideo: Bool
    ) -> (packet: MediaPacket?, isRestart: Bool) {
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
            used = known?.offset ?? offset ?? beginConnection(own, arrival, now)
        }
        tracks[packet.track] = Track(own: own, arrival: arrival, offset: used)
        let offset = Duration.nanoseconds(used)
        var placed = packet
        placed.timestamp = packet.timestamp.advanced(by: offset)
        placed.decodeTimestamp = packet.decodeTimestamp?.advanced(by: offset)
        if repeated.contains(packet.track), let last = last[packet.track] {
            if own.advanced(by: offset) > last {
                repeated.remove(packet.track)
            } else {
                guard isVideo else { return (nil, jumps) }
                // Too short to be seen, so their order need not be that of showing.
                placed.timestamp = last + .milliseconds(1)
                placed.decodeTimestamp = nil
            }
        }
        let decode = placed.decodeTimestamp ?? placed.timestamp
        let latest = min(placed.timestamp, decode + LiveTimes.longestStepAhead)
        last[packet.track] = last[packet.track].map { max($0, latest) } ?? latest
        let packetEnd = decode.advanced(by: packet.duration)
        end = end.map { max($0, packetEnd) } ?? packetEnd
        return (placed, jumps)
    }

    /// Begins a connection, where the last one has ended if that is later. One that may repeat begins earlier, but times that are
    /// ahead of the clock stay so.
    private mutating func beginConnection(_ own: MediaTime, _ arrival: MediaTime, _ now: MediaTime) -> Int64 {
        guard mayRepeat, let end else { return begin(own, arrival) }
        let made = arrival.advanced(by: max(.zero, end - now)).nanoseconds(since: own)
        offset = made
        return made
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

    /// Begins a stretch with a packet, after a jump.
    private mutating func begin(_ own: MediaTime, _ arrival: MediaTime) -> Int64 {
        let made = (end.map { max($0, arrival) } ?? arrival).nanoseconds(since: own)
        offset = made
        return made
    }
}
