import CLibV4L2
import VideoCapturing

/// The input of a grabber: whether it has a signal, and the signal's timings.
enum VideoInput {
    /// Whether the input takes a signal from outside, whose timings or standard it tells: a grabber's.
    static func hasSignal(_ node: DeviceNode) -> Bool {
        guard let input = current(node) else { return false }
        return input.capabilities & UInt32(V4L2_IN_CAP_DV_TIMINGS | V4L2_IN_CAP_STD) != 0
    }

    /// What is wrong with the signal; nil when nothing is, or the node has no inputs to ask about.
    static func problem(_ node: DeviceNode) -> SignalProblem? {
        guard let input = current(node) else { return nil }
        if input.capabilities & UInt32(V4L2_IN_CAP_DV_TIMINGS) != 0 {
            var timings = v4l2_dv_timings()
            do throws(IoctlFailure) {
                try node.request(.queryTimings, &timings)
            } catch {
                switch error.number {
                case ENOLINK: return SignalProblem.none
                case ENOLCK: return .unstable
                case ERANGE: return .unsupported
                default: break
                }
            }
        }
        let status = input.status
        if status & UInt32(V4L2_IN_ST_NO_POWER | V4L2_IN_ST_NO_SIGNAL) != 0 { return SignalProblem.none }
        if status & UInt32(V4L2_IN_ST_NO_H_LOCK | V4L2_IN_ST_NO_SYNC) != 0 { return .unstable }
        return nil
    }

    /// Sets the timings (or the analogue standard) that the signal has, which a driver never does by itself.
    ///
    /// - Returns: what is wrong with the signal; the node keeps its timings then.
    @discardableResult
    static func adoptTimings(_ node: DeviceNode) -> SignalProblem? {
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
