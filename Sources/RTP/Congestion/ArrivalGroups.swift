/// Joins packets that were sent, or have arrived, as one burst, and compares how far apart the bursts were sent and arrived.
///
/// draft-ietf-rmcat-gcc-02, 5.2 and 5.3. Times are milliseconds; those of sending and of arrival are of different clocks.
struct ArrivalGroups {
    /// The change between two groups.
    struct Change: Equatable {
        /// How much longer the second was under way than the first, in milliseconds.
        var delay: Double
        /// The time between their sending.
        var sendInterval: Double
        /// When the last packet of the second arrived.
        var arrival: Double
    }

    /// Packets that were sent within this time of the first are one group; those that arrive within it of the last may be.
    private static let burst = 5.0
    private static let longestBurst = 100.0
    /// A clock that leaps by more is another one.
    private static let leap = 3000.0

    private struct Group {
        var firstSent: Double
        var lastSent: Double
        var firstArrival: Double
        var lastArrival: Double
    }

    private var open: Group?
    private var previous: Group?

    /// Takes a packet that has arrived.
    ///
    /// - Returns: the change between the last two groups, when the packet begins another one.
    mutating func add(sent: Double, arrival: Double) -> Change? {
        guard var group = open else {
            open = Group(firstSent: sent, lastSent: sent, firstArrival: arrival, lastArrival: arrival)
            return nil
        }
        if abs((arrival - group.lastArrival) - (sent - group.lastSent)) > ArrivalGroups.leap {
            self = ArrivalGroups()
            return add(sent: sent, arrival: arrival)
        }
        // Out of order: it says nothing of a later group.
        guard sent >= group.firstSent else { return nil }
        let gap = arrival - group.lastArrival
        let isBurst =
            gap <= ArrivalGroups.burst && gap - (sent - group.lastSent) < 0
            && arrival - group.firstArrival < ArrivalGroups.longestBurst
        if sent - group.firstSent <= ArrivalGroups.burst || isBurst {
            group.lastSent = max(group.lastSent, sent)
            group.lastArrival = max(group.lastArrival, arrival)
            open = group
            return nil
        }
        open = Group(firstSent: sent, lastSent: sent, firstArrival: arrival, lastArrival: arrival)
        defer { previous = group }
        guard let previous else { return nil }
        let sendInterval = group.lastSent - previous.lastSent
        return Change(
            delay: (group.lastArrival - previous.lastArrival) - sendInterval, sendInterval: sendInterval,
            arrival: group.lastArrival)
    }
}
