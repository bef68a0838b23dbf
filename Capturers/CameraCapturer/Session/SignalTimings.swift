import CLibV4L2

/// The timings of a signal at a grabber's input, as far as they tell one signal from another.
struct SignalTimings: Hashable {
    let width: UInt32
    let height: UInt32
    let isInterlaced: Bool
    /// Pixels a second, blanking included.
    let pixelClock: UInt64

    /// What the input has now; nil where there is no signal, or none with timings.
    init?(_ node: DeviceNode) {
        var timings = v4l2_dv_timings()
        guard (try? node.request(.queryTimings, &timings)) != nil else { return nil }
        let fields = clibv4l2_get_timings(&timings)
        width = fields.width
        height = fields.height
        isInterlaced = fields.interlaced != 0
        pixelClock = fields.pixelclock
    }

    /// Whether the two are of the same signal: the clock is measured, and differs a little each time.
    func matches(_ other: SignalTimings) -> Bool {
        guard (width, height, isInterlaced) == (other.width, other.height, other.isInterlaced) else { return false }
        let (low, high) = (min(pixelClock, other.pixelClock), max(pixelClock, other.pixelClock))
        return high - low <= high / 100
    }
}
