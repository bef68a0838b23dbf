import CLibV4L2
import V4L2Support
import VideoCapturing

/// The events of a driver (`VIDIOC_DQEVENT`).
struct NodeEvents {
    /// The input's signal has changed.
    private(set) var sourceChanged = false
    /// The controls that were changed by any program, and their new values.
    private(set) var controls: [(id: UInt32, value: Int64)] = []

    var isEmpty: Bool { !sourceChanged && controls.isEmpty }

    /// Subscribes to changes of the source and of these controls. Refusals are ignored: there are no events then.
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

    /// Reads all pending events.
    ///
    /// - Throws: when the device is gone.
    static func take(_ node: DeviceNode) throws(IoctlFailure) -> NodeEvents {
        var events = NodeEvents()
        // More than an event queue holds; bounded, so that a driver cannot block the thread.
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
            // A request without a pending event may block.
            if event.pending == 0 { return events }
        }
        return events
    }
}
