import CLibV4L2
import V4L2Support
import VideoCapturing

/// The input of a grabber: whether it has a signal, and the signal's timings.
enum VideoInput {
    /// Whether the input takes an external signal and reports its timings or standard: a grabber's.
    static func hasSignal(_ node: DeviceNode) -> Bool {
        guard let input = current(node) else { return false }
        return input.capabilities & UInt32(V4L2_IN_CAP_DV_TIMINGS | V4L2_IN_CAP_STD) != 0
    }

    /// The problem of the signal; nil without one, or if the node does not report inputs.
    static func problem(_ node: DeviceNode) -> CameraCapturer.Event.SignalProblem? {
        guard let input = current(node) else { return nil }
        if input.capabilities & UInt32(V4L2_IN_CAP_DV_TIMINGS) != 0 {
            var timings = v4l2_dv_timings()
            do throws(IoctlFailure) {
                try node.request(.queryTimings, &timings)
            } catch {
                switch error.number {
                case ENOLINK: return CameraCapturer.Event.SignalProblem.none
                case ENOLCK: return .unstable
                case ERANGE: return .unsupported
                default: break
                }
            }
        }
        let status = input.status
        if status & UInt32(V4L2_IN_ST_NO_POWER | V4L2_IN_ST_NO_SIGNAL) != 0 {
            return CameraCapturer.Event.SignalProblem.none
        }
        if status & UInt32(V4L2_IN_ST_NO_H_LOCK | V4L2_IN_ST_NO_SYNC) != 0 { return .unstable }
        return nil
    }

    /// Sets the timings (or the analog standard) of the signal, which drivers do not do automatically.
    ///
    /// - Returns: the problem of the signal; the node keeps its timings then.
    @discardableResult
    static func adoptTimings(_ node: DeviceNode) -> CameraCapturer.Event.SignalProblem? {
        guard let input = current(node) else { return nil }
        if let problem = problem(node) { return problem }
        if input.capabilities & UInt32(V4L2_IN_CAP_DV_TIMINGS) != 0 {
            var timings = v4l2_dv_timings()
            if (try? node.request(.queryTimings, &timings)) != nil {
                _ = try? node.request(.setTimings, &timings)
            }
        } else if input.capabilities & UInt32(V4L2_IN_CAP_STD) != 0 {
            var standard = v4l2_std_id()
            if (try? node.request(.queryStandard, &standard)) != nil, standard != 0 {
                _ = try? node.request(.setStandard, &standard)
            }
        }
        return nil
    }

    private static func current(_ node: DeviceNode) -> v4l2_input? {
        var index: Int32 = 0
        guard (try? node.request(.getInput, &index)) != nil, index >= 0 else { return nil }
        var input = v4l2_input()
        input.index = UInt32(index)
        return (try? node.request(.enumerateInputs, &input)) != nil ? input : nil
    }
}

/// The timings of a signal at a grabber's input that distinguish one signal from another.
struct SignalTimings: Hashable {
    let width: UInt32
    let height: UInt32
    let isInterlaced: Bool
    /// Pixels per second, including blanking.
    let pixelClock: UInt64

    /// The timings at the input now; nil where there is no signal, or the input has no timings.
    init?(_ node: DeviceNode) {
        var timings = v4l2_dv_timings()
        guard (try? node.request(.queryTimings, &timings)) != nil else { return nil }
        let fields = clibv4l2_get_timings(&timings)
        width = fields.width
        height = fields.height
        isInterlaced = fields.interlaced != 0
        pixelClock = fields.pixelclock
    }

    /// Whether the two are of the same signal: the clock is measured, and varies slightly.
    func matches(_ other: SignalTimings) -> Bool {
        guard (width, height, isInterlaced) == (other.width, other.height, other.isInterlaced) else { return false }
        let (low, high) = (min(pixelClock, other.pixelClock), max(pixelClock, other.pixelClock))
        return high - low <= high / 100
    }
}
