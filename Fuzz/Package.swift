// swift-tools-version: 6.2
import PackageDescription

/// The fuzz targets, apart from the package so that no other build includes them. `./run` builds and runs all.
///
/// A target is one file with the function `LLVMFuzzerTestOneInput`; libFuzzer has the `main`. To add one:
/// a folder in Sources, a line in `fuzzers`, and a folder of small inputs in Corpus.
let fuzzers: [(name: String, dependencies: [Target.Dependency])] = [
    ("FuzzY4M", [framework("MediaContainers"), framework("VideoCapturing")]),
    ("FuzzIVF", [framework("MediaContainers"), framework("VideoCapturing")]),
    ("FuzzH264", [framework("H264Bitstream")]),
    ("FuzzJPEG", [framework("JPEGCodec"), framework("FrameProcessing"), framework("VideoCapturing")]),
    (
        "FuzzFFmpegContainers",
        [framework("FFmpegContainers"), framework("MediaContainers"), framework("VideoCapturing")]
    ),
    ("FuzzMJPEGCapturer", [framework("MJPEGCapturer")]),
    ("FuzzMP3", [framework("MP3Codec"), framework("AudioCapturing")]),
    ("FuzzPlaylist", [framework("RadioPlayer")]),
    ("FuzzRadio", [framework("RadioPlayer")]),
    ("FuzzRequests", [framework("MJPEGServer")]),
    ("FuzzSignalling", [framework("WebRTCPublisher")]),
    ("FuzzRTCP", [framework("RTP")]),
    ("FuzzSDP", [framework("RTP")]),
    ("FuzzRTSP", [framework("RTP"), framework("RTSPServer")]),
    ("FuzzONVIF", [framework("RTSPServer")]),
    ("FuzzTransportFeedback", [framework("RTP")]),
    ("FuzzFileNames", [framework("MediaPublishing")]),
    ("FuzzConfigFile", [framework("CaptureTool")]),
    ("FuzzOptions", [framework("CaptureTool"), framework("FrameProcessing"), framework("VideoCapturing")]),
]

func framework(_ product: String) -> Target.Dependency { .product(name: product, package: "swift-video-capturing") }

let package = Package(
    name: "Fuzz",
    dependencies: [.package(name: "swift-video-capturing", path: "..")],
    targets: [
        .target(
            name: "FuzzSupport",
            dependencies: ["CaptureTool", "FileCapturer", "MediaContainers", "VideoCapturing"].map(framework))
    ]
        + fuzzers.map { name, dependencies in
            .executableTarget(
                name: name, dependencies: dependencies + ["FuzzSupport"],
                swiftSettings: [.unsafeFlags(["-parse-as-library"])])
        }
)
