import CLibV4L2
import VideoCapturing

/// What a driver tells of by itself (`VIDIOC_DQEVENT`).
struct NodeEvents {
    /// The input's signal has changed.
    private(set) var sourceChanged = false
    /// The controls that were changed, by whoever, and their new values.
    private(set) var controls: [(id: UInt32, value: Int64)] = []

    var isEmpty: Bool { !sourceChanged && controls.isEmpty }

    /// Asks to be told of changes of the source, and of these controls. Refusals do no harm: nothing is told then.
    static func subscribe(_ node: DeviceNode, controls: [UInt32]) {
        var subscription = v4l2_event_subscription()
        subscription.type = UInt32(V4L2_EVENT_SOURCE_CHANGE)
        _ = try? node.request(.subscribeEvent, &subscription)
        for control in controls {
            var subscription = v4l2_event_subscription()
            subscription.type = UInt32(V4L2_EVENT_CTRL)
            subscription.id = control
            _ = try? node.request(.subscribeEvent, &subscription)
        }
    }

    /// All that is waiting.
    static func take(_ node: DeviceNode) throws(IoctlFailure) -> NodeEvents {
        var events = NodeEvents()
        // More than a queue of events holds; so a driver that never ends cannot keep the thread.
        for _ in 0..<1024 {
            var event = v4l2_event()
            do throws(IoctlFailure) {
                try node.request(.dequeueEvent, &event)
            } catch {
                if error.isDeviceGone { throw error }
                return events
            }
            switch Int32(bitPattern: event.type) {
            case V4L2_EVENT_SOURCE_CHANGE:
                events.sourceChanged = true
            case V4L2_EVENT_CTRL where event.u.ctrl.changes & UInt32(V4L2_EVENT_CTRL_CH_VALUE) != 0:
                let isLong = event.u.ctrl.type == V4L2_CTRL_TYPE_INTEGER64.rawValue
                events.controls.append((event.id, isLong ? event.u.ctrl.value64 : Int64(event.u.ctrl.value)))
            default:
                break
            }
            // To ask for one that is not there may block.
            if event.pending == 0 { return events }
        }
        return events
    }
}
