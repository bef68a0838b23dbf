import VideoCapturing

@testable import CameraCapturer

extension RecordedCamera {
    /// The Raspberry Pi's bcm2835-v4l2: any even size, any rate up to 90, many formats.
    static let raspberryPi = {
        let range = FrameSizeRange(
            minWidth: 32, maxWidth: 2592, stepWidth: 2, minHeight: 32, maxHeight: 1944, stepHeight: 2)
        let intervals: FrameIntervals = .range(
            shortest: FrameInterval(numerator: 1, denominator: 90),
            longest: FrameInterval(numerator: 1, denominator: 1),
            step: FrameInterval(numerator: 1, denominator: 1))
        var camera = RecordedCamera()
        for fourCC: FourCC in ["YU12", "YUYV", "RGB3", "JPEG", "H264", "MJPG", "YVYU", "VYUY", "UYVY", "NV12", "BGR3"] {
            camera.add(fourCC, .range(range, intervals), isCompressed: ["JPEG", "H264", "MJPG"].contains(fourCC))
        }
        return camera
    }()
}
