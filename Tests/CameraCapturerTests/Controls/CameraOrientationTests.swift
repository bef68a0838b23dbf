import CLibV4L2
import Testing
import V4L2Support
import VideoCapturing

@testable import CameraCapturer

@Suite struct CameraOrientationTests {
    private func orientation(
        sensor: Int, rotation: Int = 0, across: Bool = false, down: Bool = false
    ) -> VideoOrientation {
        CameraOrientation(
            sensorRotation: sensor, rotation: rotation, isFlippedAcross: across, isFlippedDown: down, facesUser: false
        ).orientation
    }

    /// V4L2 counts the turn that is needed counter-clockwise.
    @Test func turnsAgainstTheMounting() {
        #expect(orientation(sensor: 0) == .up)
        #expect(orientation(sensor: 90) == .right)
        #expect(orientation(sensor: 180) == .down)
        #expect(orientation(sensor: 270) == .left)
        #expect(orientation(sensor: 45) == .up)
        #expect(orientation(sensor: .max) == .up)
    }

    @Test func leavesOutWhatTheDriverHasDone() {
        #expect(orientation(sensor: 180, across: true, down: true) == .up)
        #expect(orientation(sensor: 180, rotation: 180) == .up)
        #expect(orientation(sensor: 90, rotation: 270) == .up)
        #expect(orientation(sensor: 90, across: true) == .right)
        #expect(orientation(sensor: 0, rotation: 90) == .up)
        #expect(orientation(sensor: 0, across: true, down: true) == .up)
    }

    @Test func readsTheCamerasControls() throws {
        let fixture = try ControlFixture()
        #expect(CameraOrientation(fixture.node) == CameraOrientation())
        fixture.change { node in
            node.controls = [
                .init(
                    id: V4L2_CID_CAMERA_ORIENTATION, type: V4L2_CTRL_TYPE_MENU, title: "Camera Orientation", maximum: 2,
                    flags: Int32(V4L2_CTRL_FLAG_READ_ONLY), items: [0: "Front", 1: "Back", 2: "External"]),
                .init(
                    id: V4L2_CID_CAMERA_SENSOR_ROTATION, type: V4L2_CTRL_TYPE_INTEGER, title: "Camera Sensor Rotation",
                    minimum: 90, maximum: 90, value: 90),
                .init(id: V4L2_CID_HFLIP, type: V4L2_CTRL_TYPE_BOOLEAN, title: "Horizontal Flip"),
            ]
        }
        let front = CameraOrientation(fixture.node)
        #expect(front.orientation == .right)
        #expect(front.facesUser && front.isMirrored)
        fixture.change { $0[V4L2_CID_HFLIP].value = 1 }
        #expect(!CameraOrientation(fixture.node).isMirrored)
    }
}
