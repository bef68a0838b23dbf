import VideoCapturing

@testable import CameraCapturer

extension RecordedCamera {
    /// The kernel's vivid, webcam input, single-planar: the smaller the size, the more of twelve intervals
    /// (drivers/media/test-drivers/vivid/vivid-vid-cap.c, `webcam_sizes` and `webcam_intervals`).
    static let vividWebcam = {
        let sizes = ["320x180", "640x360", "640x480", "1280x720", "1920x1080", "3840x2160"]
        let intervals: [(UInt32, UInt32)] = [
            (1, 1), (1, 2), (1, 4), (1, 5), (1, 10), (2, 25), (1, 15), (1, 25), (1, 30), (1, 40), (1, 50), (1, 60),
        ]
        let modes = sizes.enumerated().map { index, size in
            Size(
                size: PixelSize(size),
                intervals: .discrete(
                    intervals.prefix(2 * (sizes.count - index)).map {
                        FrameInterval(numerator: $0.0, denominator: $0.1)
                    }))
        }
        var camera = RecordedCamera()
        for fourCC: FourCC in ["YUYV", "UYVY", "YVYU", "VYUY", "422P", "YU12", "YV12", "NV12", "NV21", "NV16", "GREY"] {
            camera.add(fourCC, .discrete(modes))
        }
        for fourCC: FourCC in ["Y16 ", "RGBP", "RGB3", "BGR3", "XR24", "AR24", "RGB4", "BA81", "HSV3"] {
            camera.add(fourCC, .discrete(modes))
        }
        camera.convertible = ["GREY", "BA81", "YVYU", "RGBP", "Y16 "]
        return camera
    }()
}
