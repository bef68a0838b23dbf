// swift-tools-version: 6.2
import PackageDescription

/// Small programs that a user would copy. Each depends on the framework as a user's own package would.
let package = Package(
    name: "examples",
    dependencies: [.package(name: "swift-video-capturing", path: "..")],
    targets: [
        .executableTarget(
            name: "custom-capturer",
            dependencies: [
                .product(name: "VideoCapturing", package: "swift-video-capturing"),
                .product(name: "MediaPublishing", package: "swift-video-capturing"),
                .product(name: "FileOutput", package: "swift-video-capturing"),
            ]),
        .executableTarget(
            name: "custom-consumer",
            dependencies: [
                .product(name: "VideoCapturing", package: "swift-video-capturing"),
                .product(name: "NoiseCapturer", package: "swift-video-capturing"),
            ]),
        .executableTarget(
            name: "custom-microphone",
            dependencies: [.product(name: "AudioCapturing", package: "swift-video-capturing")]),
        .executableTarget(
            name: "driver-memory",
            dependencies: [
                .product(name: "VideoCapturing", package: "swift-video-capturing"),
                .product(name: "CapturerTestKit", package: "swift-video-capturing"),
            ]),
        .executableTarget(
            name: "publish-to-files",
            dependencies: [
                .product(name: "VideoCapturing", package: "swift-video-capturing"),
                .product(name: "MediaPublishing", package: "swift-video-capturing"),
                .product(name: "NoiseCapturer", package: "swift-video-capturing"),
                .product(name: "FileOutput", package: "swift-video-capturing"),
                .product(name: "VP8Codec", package: "swift-video-capturing"),
            ]),
        .executableTarget(
            name: "serve-to-browsers",
            dependencies: [
                .product(name: "VideoCapturing", package: "swift-video-capturing"),
                .product(name: "NoiseCapturer", package: "swift-video-capturing"),
                .product(name: "MJPEGServer", package: "swift-video-capturing"),
            ]),
    ]
)
