// swift-tools-version: 6.2
import PackageDescription

/// A small program that a user would copy, and the products that it uses.
func program(_ name: String, _ products: String...) -> Target {
    .executableTarget(
        name: name, dependencies: products.map { .product(name: $0, package: "swift-video-capturing") })
}

/// Each depends on the framework as a user's own package would.
let package = Package(
    name: "examples",
    dependencies: [.package(name: "swift-video-capturing", path: "..")],
    targets: [
        program("async-frames", "VideoCapturing", "PatternCapturer"),
        program(
            "camera-app", "VideoCapturing", "CameraCapturer", "PatternCapturer", "MediaPublishing", "FileOutput",
            "MJPEGServer", "VP8Codec"),
        program("custom-capturer", "VideoCapturing", "MediaPublishing", "FileOutput"),
        program("custom-codec", "VideoCapturing", "MediaPublishing", "PatternCapturer"),
        program("custom-consumer", "VideoCapturing", "NoiseCapturer"),
        program("custom-microphone", "AudioCapturing"),
        program("driver-memory", "VideoCapturing", "CapturerTestKit"),
        program(
            "files-to-frames", "VideoCapturing", "FileCapturer", "PatternCapturer", "MediaPublishing", "FileOutput"),
        program("publish-to-files", "VideoCapturing", "MediaPublishing", "NoiseCapturer", "FileOutput", "VP8Codec"),
        program("push-frames", "VideoCapturing", "MediaPublishing", "FileOutput", "VP8Codec"),
        program(
            "record-and-serve", "VideoCapturing", "MediaPublishing", "PatternCapturer", "FileOutput", "MJPEGServer",
            "VP8Codec"),
        program("replace-capture", "VideoCapturing", "NoiseCapturer", "PatternCapturer"),
        program("resizing-consumer", "VideoCapturing", "FrameProcessing", "PatternCapturer"),
        program("serve-to-browsers", "VideoCapturing", "NoiseCapturer", "MJPEGServer"),
        program("snapshot", "VideoCapturing", "AudioCapturing", "PatternCapturer", "StillCapture", "ToneCapturer"),
        program(
            "twenty-lines", "VideoCapturing", "MediaPublishing", "FileOutput", "FFmpegMuxing", "MJPEGServer",
            "VP8Codec",
            "H264Codec"),
        program(
            "two-cameras", "VideoCapturing", "MediaPublishing", "FFmpegMuxing", "MJPEGServer", "OpusCodec",
            "PatternCapturer", "ToneCapturer", "VP8Codec"),
        program("watch-motion", "VideoCapturing", "MotionDetection", "PatternCapturer"),
        program("virtual-clock", "VideoCapturing", "CapturerTestKit", "PatternCapturer"),
    ]
)
