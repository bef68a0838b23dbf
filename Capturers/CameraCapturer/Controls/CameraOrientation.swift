import CLibV4L2
import VideoCapturing

/// How a camera is mounted, and what its driver has done about it already.
struct CameraOrientation: Sendable, Hashable {
    /// The turn that makes the pictures upright.
    private(set) var orientation = VideoOrientation.up
    /// Whether the camera looks at the user of the device that it is built into.
    private(set) var facesUser = false
    /// Whether a local preview is to be mirrored: facing the user, and not mirrored in the pictures already.
    private(set) var isMirrored = false

    init() {}

    /// By the camera's controls; those that it does not have count as upright and not facing the user.
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
    ///   - sensorRotation: `V4L2_CID_CAMERA_SENSOR_ROTATION`: the degrees by which pictures are to be turned
    ///     **counter-clockwise**.
    ///   - rotation: `V4L2_CID_ROTATE`: the degrees by which the driver turns them clockwise.
    ///   - isFlippedAcross: `V4L2_CID_HFLIP`.
    ///   - isFlippedDown: `V4L2_CID_VFLIP`.
    ///   - facesUser: whether `V4L2_CID_CAMERA_ORIENTATION` is front.
    init(sensorRotation: Int, rotation: Int, isFlippedAcross: Bool, isFlippedDown: Bool, facesUser: Bool) {
        self.facesUser = facesUser
        isMirrored = facesUser && isFlippedAcross == isFlippedDown
        // Turns of an upright sensor are somebody's wish, so they are not undone.
        guard sensorRotation % 360 != 0 else { return }
        let done = rotation % 360 + (isFlippedAcross && isFlippedDown ? 180 : 0)
        orientation = VideoOrientation(clockwiseDegrees: -(sensorRotation % 360) - done) ?? .up
    }
}
