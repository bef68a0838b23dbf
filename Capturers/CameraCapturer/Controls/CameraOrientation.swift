import CLibV4L2
import V4L2Support
import VideoCapturing

/// How a camera is mounted, and which part of that its driver has compensated already.
struct CameraOrientation: Sendable, Hashable {
    /// The clockwise rotation to apply for display.
    private(set) var orientation = VideoOrientation.up
    /// Whether the camera faces the user of the device that it is built into.
    private(set) var facesUser = false
    /// Whether a local preview should be mirrored: the camera faces the user, and its frames are not mirrored already.
    private(set) var isMirrored = false

    init() {}

    /// Reads the camera's controls; those that it does not have count as upright and not facing the user.
    init(_ node: DeviceNode) {
        let controls = ControlSet(node)
        func number(_ id: Int32) -> Int { controls.control(id: id)?.value?.number.map { Int(clamping: $0) } ?? 0 }
        let front = controls.control(id: V4L2_CID_CAMERA_ORIENTATION)?.value?.number
        self.init(
            sensorRotation: number(V4L2_CID_CAMERA_SENSOR_ROTATION), rotation: number(V4L2_CID_ROTATE),
            isFlippedAcross: number(V4L2_CID_HFLIP) != 0, isFlippedDown: number(V4L2_CID_VFLIP) != 0,
            facesUser: front == Int64(V4L2_CAMERA_ORIENTATION_FRONT))
    }

    /// - Parameters:
    ///   - sensorRotation: `V4L2_CID_CAMERA_SENSOR_ROTATION`: the **counter-clockwise** rotation to apply, in degrees.
    ///   - rotation: `V4L2_CID_ROTATE`: the clockwise rotation that the driver applies, in degrees.
    ///   - isFlippedAcross: `V4L2_CID_HFLIP`.
    ///   - isFlippedDown: `V4L2_CID_VFLIP`.
    ///   - facesUser: whether `V4L2_CID_CAMERA_ORIENTATION` is front.
    init(sensorRotation: Int, rotation: Int, isFlippedAcross: Bool, isFlippedDown: Bool, facesUser: Bool) {
        self.facesUser = facesUser
        isMirrored = facesUser && isFlippedAcross == isFlippedDown
        // Rotations of an upright sensor were set on purpose, so they are not undone.
        guard sensorRotation % 360 != 0 else { return }
        let done = rotation % 360 + (isFlippedAcross && isFlippedDown ? 180 : 0)
        orientation = VideoOrientation(clockwiseDegrees: -(sensorRotation % 360) - done) ?? .up
    }
}
