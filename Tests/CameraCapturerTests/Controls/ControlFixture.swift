import CLibV4L2
import V4L2Support

@testable import CameraCapturer

/// The controls of a webcam of the C920's class, with its automatics.
final class ControlFixture {
    static let path = "/dev/video0"
    let driver = FakeControlDriver()
    let node: DeviceNode
    var controls: ControlSet { ControlSet(node) }

    subscript(id: Int32) -> Int64 { driver[ControlFixture.path]![id].value }

    init() throws {
        driver[ControlFixture.path] = ControlFixture.webcam
        node = try DeviceNode(opening: ControlFixture.path, calls: driver)
    }

    func change(_ change: (inout FakeControlDriver.Node) -> Void) {
        var node = driver[ControlFixture.path]!
        change(&node)
        driver[ControlFixture.path] = node
    }

    static let inactive = Int32(V4L2_CTRL_FLAG_INACTIVE)

    static var webcam: FakeControlDriver.Node {
        var node = FakeControlDriver.Node.webcam()
        node.controls = [
            .init(
                id: V4L2_CID_BRIGHTNESS, type: V4L2_CTRL_TYPE_INTEGER, title: "Brightness", maximum: 255, standard: 128,
                value: 128),
            .init(
                id: V4L2_CID_AUTO_WHITE_BALANCE, type: V4L2_CTRL_TYPE_BOOLEAN, title: "White Balance, Automatic",
                standard: 1, value: 1),
            .init(
                id: V4L2_CID_POWER_LINE_FREQUENCY, type: V4L2_CTRL_TYPE_MENU, title: "Power Line Frequency", maximum: 2,
                standard: 2, value: 2, items: [0: "Disabled", 1: "50 Hz", 2: "60 Hz"]),
            .init(
                id: V4L2_CID_WHITE_BALANCE_TEMPERATURE, type: V4L2_CTRL_TYPE_INTEGER,
                title: "White Balance Temperature", minimum: 2000, maximum: 6500, step: 10, standard: 4000,
                flags: inactive, value: 4000),
            .init(
                id: V4L2_CID_EXPOSURE_AUTO, type: V4L2_CTRL_TYPE_MENU, title: "Auto Exposure", maximum: 3, standard: 3,
                value: 3, items: [1: "Manual Mode", 3: "Aperture Priority Mode"]),
            .init(
                id: V4L2_CID_EXPOSURE_ABSOLUTE, type: V4L2_CTRL_TYPE_INTEGER, title: "Exposure Time, Absolute",
                minimum: 3, maximum: 2047, standard: 250, flags: inactive, value: 250),
            .init(
                id: V4L2_CID_EXPOSURE_AUTO_PRIORITY, type: V4L2_CTRL_TYPE_BOOLEAN, title: "Exposure, Dynamic Framerate",
                value: 1),
        ]
        node.ruling = { node, id in
            switch id {
            case V4L2_CID_EXPOSURE_AUTO: node[V4L2_CID_EXPOSURE_ABSOLUTE].flags = node[id].value == 1 ? 0 : inactive
            case V4L2_CID_AUTO_WHITE_BALANCE:
                node[V4L2_CID_WHITE_BALANCE_TEMPERATURE].flags = node[id].value == 0 ? 0 : inactive
            default: break
            }
        }
        return node
    }
}
