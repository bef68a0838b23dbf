import VideoCapturing

@testable import CameraCapturer

extension RecordedCamera {
    /// An HDMI grabber whose driver knows one size, by the signal's timings, and lists no interval.
    static let hdmiGrabber = {
        var camera = RecordedCamera()
        for fourCC: FourCC in [.yuyv, .nv12, .mjpeg] { camera.add(fourCC, .fixed(PixelSize("1920x1080"))) }
        camera.interval = FrameInterval(numerator: 1001, denominator: 60000)
        return camera
    }()

    /// A USB grabber that lists one size with the rates of film, television and computers.
    static let usbGrabber = {
        var camera = RecordedCamera()
        let intervals: FrameIntervals = .discrete([
            FrameInterval(numerator: 1001, denominator: 60000), FrameInterval(numerator: 1, denominator: 60),
        ])
        for fourCC: FourCC in [.yuyv, .mjpeg] { camera.add(fourCC, .all(["1920x1080"], intervals)) }
        return camera
    }()

    /// A camera whose only rate is that of American television.
    static let television = {
        var camera = RecordedCamera()
        camera.add(
            .uyvy,
            .all(["720x480", "640x480"], .discrete([FrameInterval(numerator: 1001, denominator: 30000)])))
        return camera
    }()

    /// Lists that repeat themselves and hold nonsense.
    static let liar = {
        let nonsense: FrameIntervals = .discrete(
            [(0, 0), (0, 30), (1, 0), (1, 30), (1, 30), (2, 60), (.max, .max), (0, .max)].map {
                FrameInterval(numerator: $0.0, denominator: $0.1)
            })
        let sizes = ["0x0", "640x480", "640x480", "4294967295x4294967295", "0x480", "320x240"]
        var camera = RecordedCamera()
        camera.add(.yuyv, .all(sizes + Array(repeating: "640x480", count: 100_000), nonsense))
        camera.add(
            .mjpeg,
            .all(sizes, .discrete(Array(repeating: FrameInterval(numerator: 1, denominator: 30), count: 100_000))))
        camera.add(.nv12, .all(["320x240"], .discrete([FrameInterval(numerator: 0, denominator: 0)])))
        camera.entries += Array(repeating: camera.entries[0], count: 100_000)
        return camera
    }()

    /// A camera with one format, 640×480 at 30.
    static func single(_ fourCC: FourCC, isConvertible: Bool = false) -> RecordedCamera {
        var camera = RecordedCamera()
        camera.add(fourCC, .all(["640x480"], .rates(30)))
        if isConvertible { camera.convertible = [fourCC] }
        return camera
    }
}
