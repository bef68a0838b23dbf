import V4L2Support
import VideoCapturing

@testable import CameraCapturer

/// A machine without any video node; its folders are not there.
let machineWithoutCamera = CameraDirectory(places: MachinePlaces(root: "/nowhere"))

/// A webcam as it would be listed.
func webcam(
    _ name: String = "HD Pro Webcam C920", access: CameraDevice.Access = .usable, driver: String = "uvcvideo"
) -> CameraDevice {
    CameraDevice(
        id: "usb-046d_HD_Pro_Webcam_C920_ABC-video-index0", name: name, path: "/dev/video0",
        bus: "usb-0000:00:14.0-1", driver: driver, access: access,
        links: .init(byID: ["usb-046d_HD_Pro_Webcam_C920_ABC-video-index0"], byPath: ["pci-usb-0:1:1.0-video-index0"]),
        node: VideoNode(name: "video0", MachinePlaces(root: "/nowhere"))!)
}

/// A format with two sizes at 30 and 15 frames per second.
func modeGroup(_ fourCC: FourCC, cost: CameraMode.ConversionCost? = .subsample, fastest: FrameRate = 30)
    -> CameraMode.Group
{
    let rates = CameraMode.Group.Rates.discrete([fastest, 15])
    return CameraMode.Group(
        fourCC: fourCC, name: "\(fourCC) pictures", cost: cost, isEmulated: false,
        entries: [
            .init(sizes: .discrete(.vga640x480), rates: rates),
            .init(sizes: .discrete(.hd1280x720), rates: .discrete([10])),
        ])
}

/// The choice of YUYV before MJPEG.
func decision() -> CameraMode.Decision {
    let request = CameraMode.Request(size: .cif352x288, rate: 30)
    func mode(_ format: FourCC, _ index: Int) -> CameraMode {
        CameraMode(
            CaptureFormat.of(format)!, .vga640x480, rate: 30, isRateVerified: true, index: index, for: request)
    }
    return CameraMode.Decision(
        requested: request, negotiated: mode(.yuyv, 0),
        rejected: [CameraMode.Decision.RejectedMode(mode(.mjpeg, 1), .costlier)])
}

/// A control as a driver would list it.
func control(
    _ name: String, _ kind: CameraControl.Kind, _ value: CameraControl.Value?, default: CameraControl.Value? = nil,
    flags: UInt32 = 0
) -> CameraControl {
    CameraControl(
        id: 1, name: name, title: name, kind: kind, defaultValue: `default`, value: value, flags: flags, isLong: false)
}
