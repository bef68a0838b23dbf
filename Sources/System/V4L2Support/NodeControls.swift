import CLibV4L2

/// Single controls of a node, by their numbers (`V4L2_CID_…`).
extension DeviceNode {
    /// Makes a request for one control (`VIDIOC_G_EXT_CTRLS`, `VIDIOC_S_EXT_CTRLS`).
    package func requestControl(_ request: DeviceRequest, _ argument: inout v4l2_ext_control) throws(IoctlFailure) {
        try withUnsafeMutablePointer(to: &argument) { pointer throws(IoctlFailure) in
            var controls = v4l2_ext_controls()
            controls.which = UInt32(V4L2_CTRL_WHICH_CUR_VAL)
            controls.count = 1
            controls.controls = pointer
            try self.request(request, &controls)
        }
    }

    /// The values that a control takes; nil where the driver does not have it, or has disabled it.
    package func controlRange(_ id: UInt32) -> ClosedRange<Int64>? {
        var query = v4l2_query_ext_ctrl()
        query.id = id
        guard (try? request(.queryControl, &query)) != nil, query.flags & UInt32(V4L2_CTRL_FLAG_DISABLED) == 0 else {
            return nil
        }
        return min(query.minimum, query.maximum)...max(query.minimum, query.maximum)
    }

    /// Sets a control of 32 bits to the value of its range that is nearest.
    ///
    /// - Returns: whether the driver has the control; false says that nothing was set.
    /// - Throws: the driver's refusal.
    @discardableResult
    package func setControl(_ id: UInt32, to value: Int64) throws(IoctlFailure) -> Bool {
        guard let range = controlRange(id) else { return false }
        var argument = v4l2_ext_control()
        argument.id = id
        argument.value = Int32(clamping: min(max(value, range.lowerBound), range.upperBound))
        try requestControl(.setControls, &argument)
        return true
    }
}
