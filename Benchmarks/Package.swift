// swift-tools-version: 6.2
import PackageDescription

/// As strict as the package that is measured.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "swift-video-capturing", path: "..")],
    targets: [
        .executableTarget(
            name: "capturer-bench",
            dependencies: [
                "CAllocationCount", "CBareEncoder", "CBareH264", "CBareJPEG", "CNoiseKernelHeader",
                .product(name: "VideoCapturing", package: "swift-video-capturing"),
                .product(name: "VP8Codec", package: "swift-video-capturing"),
                .product(name: "H264Codec", package: "swift-video-capturing"),
                .product(name: "JPEGCodec", package: "swift-video-capturing"),
                .product(name: "MediaContainers", package: "swift-video-capturing"),
                .product(name: "CameraCapturer", package: "swift-video-capturing"),
                .product(name: "MotionDetection", package: "swift-video-capturing"),
                .product(name: "NoiseCapturer", package: "swift-video-capturing"),
                .product(name: "FileCapturer", package: "swift-video-capturing"),
                .product(name: "StillCapture", package: "swift-video-capturing"),
                .product(name: "AudioCapturing", package: "swift-video-capturing"),
                .product(name: "MP3Codec", package: "swift-video-capturing"),
                .product(name: "MediaPublishing", package: "swift-video-capturing"),
                .product(name: "OpusCodec", package: "swift-video-capturing"),
                .product(name: "ToneCapturer", package: "swift-video-capturing"),
                .product(name: "WebRTCPublisher", package: "swift-video-capturing"),
                .product(name: "WindowPreview", package: "swift-video-capturing"),
            ], swiftSettings: strict),

        // Takes the place of malloc and its kin in the whole process, and counts.
        .target(name: "CAllocationCount"),

        // So that the noise's inner loop can be measured alone.
        .target(name: "CNoiseKernelHeader"),

        // libvpx and nothing else: what every encoding tool is measured against.
        .target(name: "CBareEncoder", linkerSettings: [.linkedLibrary("vpx")]),

        // The same for H.264.
        .target(name: "CBareH264", linkerSettings: [.linkedLibrary("openh264"), .linkedLibrary("yuv")]),

        // The same for JPEG.
        .target(name: "CBareJPEG", linkerSettings: [.linkedLibrary("turbojpeg"), .linkedLibrary("yuv")]),
    ]
)
