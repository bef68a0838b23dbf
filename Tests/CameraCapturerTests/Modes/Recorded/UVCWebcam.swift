import VideoCapturing

@testable import CameraCapturer

extension RecordedCamera {
    /// A UVC 1.1 webcam of the class of Logitech's C920: raw pictures are slow where they are large, for USB 2 carries
    /// no more; MJPEG is fast in every size.
    static let uvcWebcam = {
        let small = ["640x480", "160x90", "160x120", "176x144", "320x180", "320x240", "352x288", "432x240", "640x360"]
        let all: FrameIntervals = .discrete(
            [(1, 30), (1, 24), (1, 20), (1, 15), (1, 10), (2, 15), (1, 5)].map {
                FrameInterval(numerator: $0.0, denominator: $0.1)
            })
        func size(_ size: String, _ intervals: FrameIntervals) -> Size {
            Size(size: PixelSize(size), intervals: intervals)
        }
        var camera = RecordedCamera()
        camera.add(
            .yuyv,
            .discrete(
                small.map { size($0, all) } + [
                    size("800x600", .rates(24, 20, 15, 10, 5)), size("1280x720", .rates(10, 5)),
                    size("1920x1080", .rates(5)),
                ]))
        camera.add(.h264, .all(small + ["1280x720", "1920x1080"], all), isCompressed: true)
        camera.add(.mjpeg, .all(small + ["800x600", "1280x720", "1920x1080"], all), isCompressed: true)
        return camera
    }()
}
