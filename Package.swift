// swift-tools-version: 6.2
import PackageDescription

/// Every target is built with the same strictness; a warning fails the build.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .treatAllWarnings(as: .error),
]

/// A library of the system: a module map and a shim header in Sources/System, and the packages of Debian that have it.
func system(_ name: String, pkgConfig: String? = nil, _ packages: [String]) -> Target {
    .systemLibrary(name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: [.apt(packages)])
}

/// What the tool stands on.
let toolModules = [
    "AudioCapturing", "PacketCapturing", "VideoCapturing", "FrameProcessing", "VP8Codec", "H264Codec", "FFmpegCodec",
    "OpusCodec", "MediaContainers", "MicrophoneCapturer", "ToneCapturer", "MediaPublishing", "FileOutput",
    "FFmpegContainers", "FFmpegMuxing", "JPEGCodec", "MJPEGServer", "CameraCapturer", "CompositorCapturer",
    "FileCapturer", "MJPEGCapturer",
    "NoiseCapturer", "PatternCapturer", "PipeWireCapturer", "PipeWireOutput", "ScreenCapturer", "StillCapture",
    "StreamCapturer", "StreamOutput", "RTPOutput", "IcecastOutput", "SDLPreview", "V4L2Codec", "V4L2Output",
    "WindowPreview",
    "AudioRendering", "Loudspeaker", "LoudspeakerOutput", "MotionDetection", "RadioCapturer", "RadioPlayer",
    "RTSPServer", "WebRTCPublisher",
    "WebRTCViewing",
]

/// The same for the small tool, which `SMALL=1 scripts/tool` builds for `make demo`: few modules and few libraries.
let smallToolModules = [
    "AudioCapturing", "PacketCapturing", "VideoCapturing", "FrameProcessing", "VP8Codec", "MediaContainers",
    "MediaPublishing", "FileOutput", "MotionDetection", "NoiseCapturer", "PatternCapturer",
]
let isSmall = Context.environment["SMALL_TOOL"] != nil

/// The products, each with the target of its name.
let libraries = [
    "CaptureCore", "VideoCapturing", "AudioCapturing", "PacketCapturing", "FrameProcessing", "MediaContainers",
    "AudioResampling",
    "AudioRendering", "MP3Codec", "VP8Codec", "OpusCodec", "H264Bitstream", "H264Codec", "CapturerTestKit",
    "JPEGCodec", "MediaPublishing", "FileOutput", "MJPEGServer", "StillCapture", "WindowPreview", "SDLPreview",
    "StreamOutput", "RTPOutput", "IcecastOutput", "FFmpegContainers", "FFmpegMuxing", "FFmpegCodec", "CameraCapturer",
    "CompositorCapturer", "FileCapturer", "LibcameraCapturer", "Loudspeaker", "LoudspeakerOutput",
    "MJPEGCapturer", "MicrophoneCapturer", "NoiseCapturer", "PatternCapturer", "PipeWireCapturer", "PipeWireOutput",
    "ScreenCapturer",
    "StreamCapturer", "ToneCapturer", "V4L2Codec", "V4L2Output", "CaptureTool", "RadioPlayer", "RadioCapturer", "RTP",
    "RTSPServer", "WebRTCPublisher", "WebRTCViewing", "MotionDetection",
]

let package = Package(
    name: "swift-video-capturing",
    products: libraries.map { .library(name: $0, targets: [$0]) } + [
        .executable(name: "capturer-demo", targets: ["capturer-demo"]),
        .executable(name: "capturer-demo-libcamera", targets: ["capturer-demo-libcamera"]),
    ],
    traits: [
        // Off unless asked for: BoringSSL takes longer to build than all the rest.
        .trait(name: "TLS", description: "HTTPS and RTSP over TLS. Builds BoringSSL, which takes minutes.")
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        // What captures of every kind of media share: life cycle, time, threads, tracks and packets. No Foundation, no C
        // library.
        .target(name: "CaptureCore", swiftSettings: strict),
        // The contract of video captures and its runtime. Re-exports CaptureCore.
        .target(name: "VideoCapturing", dependencies: ["CaptureCore"], swiftSettings: strict),
        // The same for sound. Re-exports CaptureCore.
        .target(name: "AudioCapturing", dependencies: ["CaptureCore"], swiftSettings: strict),
        // The same for what is encoded already. Re-exports CaptureCore.
        .target(name: "PacketCapturing", dependencies: ["CaptureCore"], swiftSettings: strict),
        // A capture, the encoders that its outputs need, and the outputs, which come from a catalogue.
        .target(
            name: "MediaPublishing",
            dependencies: ["AudioCapturing", "PacketCapturing", "VideoCapturing", "FrameProcessing", "H264Bitstream"],
            swiftSettings: strict),
        .target(
            name: "FileOutput", dependencies: ["MediaPublishing", "MediaContainers", "VideoCapturing"],
            path: "Sources/Outputs/FileOutput", swiftSettings: strict),
        // MD5 and SHA-256, for this package alone.
        .target(name: "Digests", dependencies: ["CLibMD"], swiftSettings: strict),
        // What works on frames and packets.
        .target(name: "FrameProcessing", dependencies: ["VideoCapturing", "CLibYUV", "CJPEG"], swiftSettings: strict),
        // Notices when something moves. Decisions are values, apart from threads and clocks.
        .target(name: "MotionDetection", dependencies: ["VideoCapturing", "FrameProcessing"], swiftSettings: strict),
        .target(
            name: "MediaContainers", dependencies: ["VideoCapturing", "Digests", "H264Bitstream"],
            path: "Sources/Containers/MediaContainers", swiftSettings: strict),
        .target(
            name: "VP8Codec", dependencies: ["VideoCapturing", "CLibVPX"], path: "Sources/Codecs/VP8Codec",
            swiftSettings: strict),
        .target(
            name: "OpusCodec", dependencies: ["AudioCapturing", "CaptureCore", "COpus"],
            path: "Sources/Codecs/OpusCodec", swiftSettings: strict),
        // Sound between formats and clocks, apart since it links libswresample; and where sound is played.
        .target(name: "AudioResampling", dependencies: ["AudioCapturing", "CSWResample"], swiftSettings: strict),
        .target(
            name: "CSWResample", path: "Sources/System/CSWResample",
            linkerSettings: [.linkedLibrary("swresample"), .linkedLibrary("avutil")]),
        .target(
            name: "AudioRendering", dependencies: ["AudioCapturing", "AudioResampling"], swiftSettings: strict),
        .target(
            name: "MP3Codec", dependencies: ["AudioCapturing", "CMPG123"], path: "Sources/Codecs/MP3Codec",
            swiftSettings: strict),
        // Endless MP3 over HTTP: the stream, and the player of it.
        .target(
            name: "RadioPlayer",
            dependencies: [
                "AudioCapturing", "AudioRendering", "AudioResampling", "HTTPTransport", "MP3Codec", "CLibCURL",
            ], swiftSettings: strict),
        // The syntax of H.264 for encoders, containers and receivers alike. No Foundation, no C library.
        .target(
            name: "H264Bitstream", dependencies: ["CaptureCore"], path: "Sources/Codecs/H264Bitstream",
            swiftSettings: strict),
        .target(
            name: "H264Codec", dependencies: ["VideoCapturing", "H264Bitstream", "COpenH264", "CLibYUV"],
            path: "Sources/Codecs/H264Codec", swiftSettings: strict),
        // JPEG is a pixel format too, which cameras and networks give; so its pictures are read in FrameProcessing.
        .target(
            name: "JPEGCodec", dependencies: ["VideoCapturing", "FrameProcessing", "CJPEG"],
            path: "Sources/Codecs/JPEGCodec", swiftSettings: strict),
        // libjpeg ends in a jump when it fails, which must not leave C.
        .target(
            name: "CJPEG", path: "Sources/System/CJPEG",
            linkerSettings: [.linkedLibrary("jpeg"), .linkedLibrary("yuv")]),
        // Apart from MediaContainers, so that only its users link FFmpeg.
        .target(
            name: "FFmpegContainers",
            dependencies: [
                "AudioCapturing", "AudioResampling", "PacketCapturing", "VideoCapturing", "MediaContainers",
                "H264Bitstream", "StreamTransport", "FFmpegSupport", "CLibAV",
            ],
            path: "Sources/Containers/FFmpegContainers", swiftSettings: strict),
        .target(
            name: "FFmpegMuxing",
            dependencies: [
                "VideoCapturing", "H264Bitstream", "MediaContainers", "MediaPublishing", "FFmpegSupport", "CLibAV",
            ],
            path: "Sources/Containers/FFmpegMuxing", swiftSettings: strict),
        .target(
            name: "FFmpegCodec",
            dependencies: ["AudioCapturing", "VideoCapturing", "H264Bitstream", "FFmpegSupport", "CLibAV"],
            path: "Sources/Codecs/FFmpegCodec", swiftSettings: strict),
        // What all users of FFmpeg in this package share.
        .target(
            name: "FFmpegSupport", dependencies: ["CLibAV"], path: "Sources/System/FFmpegSupport",
            swiftSettings: strict),
        // Encoders as V4L2 devices, on the layer that cameras stand on, too.
        .target(
            name: "V4L2Codec", dependencies: ["VideoCapturing", "H264Bitstream", "V4L2Support", "CLibV4L2"],
            path: "Sources/Codecs/V4L2Codec", swiftSettings: strict),
        // The system calls to V4L2 devices, and where the machine lists them, for this package alone.
        .target(
            name: "V4L2Support", dependencies: ["CaptureCore", "CLibV4L2"], path: "Sources/System/V4L2Support",
            swiftSettings: strict),
        // Connections to PipeWire servers, for what captures nodes and what offers a camera. For this package alone.
        .target(
            name: "PipeWireSupport", dependencies: ["CaptureCore", "VideoCapturing", "CPipeWire"],
            path: "Sources/System/PipeWireSupport", swiftSettings: strict),
        // What asks the desktop for a screen (D-Bus). For this package alone.
        .target(
            name: "DesktopPortal", dependencies: ["CaptureCore", "CDBus"], path: "Sources/System/DesktopPortal",
            swiftSettings: strict),
        .target(
            name: "PipeWireCapturer",
            dependencies: ["VideoCapturing", "FrameProcessing", "DesktopPortal", "PipeWireSupport", "CPipeWire"],
            path: "Capturers/PipeWireCapturer", swiftSettings: strict),
        // What Wayland compositors give without a portal.
        .target(
            name: "CScreencopy", path: "Sources/System/CScreencopy", linkerSettings: [.linkedLibrary("wayland-client")]),
        .target(
            name: "CompositorCapturer", dependencies: ["VideoCapturing", "FrameProcessing", "CScreencopy"],
            path: "Capturers/CompositorCapturer", swiftSettings: strict),
        // What servers on SwiftNIO share: limits of connections, descriptors and passwords. For this package alone.
        .target(
            name: "ServerTransport",
            dependencies: [
                "CaptureCore", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TLS"])),
            ], swiftSettings: strict),
        // Any capture, live in any browser.
        .target(
            name: "MJPEGServer",
            dependencies: [
                "VideoCapturing", "MediaPublishing", "FrameProcessing", "JPEGCodec", "StillCapture", "Digests",
                "ServerTransport",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ], path: "Sources/Outputs/MJPEGServer",
            // The page is compiled into the library, so that programs need no file of it at run time.
            resources: [
                .embedInCode("Page/viewer.html"), .embedInCode("Page/viewer.css"), .embedInCode("Page/theme.js"),
                .embedInCode("Page/plots.js"), .embedInCode("Page/webrtc.js"), .embedInCode("Page/viewer.js"),
                .embedInCode("Page/view.js"), .embedInCode("Page/recordings.html"),
                .embedInCode("Page/recordings.css"), .embedInCode("Page/recordings.js"),
            ],
            swiftSettings: strict),
        // Photographs out of any capture.
        .target(
            name: "StillCapture",
            dependencies: ["VideoCapturing", "FrameProcessing", "JPEGCodec", "MediaPublishing", "CPNG"],
            path: "Sources/Outputs/StillCapture", swiftSettings: strict),
        // libpng ends in a jump when it fails, too.
        .target(name: "CPNG", path: "Sources/System/CPNG", linkerSettings: [.linkedLibrary("png")]),
        // Connections to X servers, for what captures screens and what shows windows.
        .target(name: "XDisplay", dependencies: ["VideoCapturing", "CLibXCB", "CLibYUV"], swiftSettings: strict),
        // Any capture, in a window.
        .target(
            name: "WindowPreview",
            dependencies: ["VideoCapturing", "MediaPublishing", "FrameProcessing", "XDisplay", "CLibXCB"],
            path: "Sources/Outputs/WindowPreview", swiftSettings: strict),
        // Apart from WindowPreview, so that only its users link SDL. CSDL2: what SDL does not tell of displays.
        .target(
            name: "SDLPreview", dependencies: ["VideoCapturing", "WindowPreview", "CSDL2"],
            path: "Sources/Outputs/SDLPreview", swiftSettings: strict),
        .target(
            name: "CSDL2", path: "Sources/System/CSDL2",
            linkerSettings: [.linkedLibrary("SDL2"), .linkedLibrary("X11"), .linkedLibrary("wayland-client")]),
        // Sound, where it is heard.
        .target(
            name: "Loudspeaker", dependencies: ["AudioCapturing", "AudioRendering", "CALSA"],
            path: "Sources/Outputs/Loudspeaker", swiftSettings: strict),
        // The same as an output of a publisher.
        .target(
            name: "LoudspeakerOutput",
            dependencies: ["AudioCapturing", "AudioRendering", "Loudspeaker", "MediaPublishing", "VideoCapturing"],
            path: "Sources/Outputs/LoudspeakerOutput", swiftSettings: strict),
        // Frames as a camera for other programs.
        .target(
            name: "PipeWireOutput",
            dependencies: ["VideoCapturing", "MediaPublishing", "FrameProcessing", "PipeWireSupport", "CPipeWire"],
            path: "Sources/Outputs/PipeWireOutput", swiftSettings: strict),
        // The same for programs that read no PipeWire, by v4l2loopback.
        .target(
            name: "V4L2Output",
            dependencies: ["VideoCapturing", "MediaPublishing", "FrameProcessing", "V4L2Support", "CLibV4L2"],
            path: "Sources/Outputs/V4L2Output", swiftSettings: strict),
        // Encoded video over TCP, to one receiver or to any number.
        .target(
            name: "StreamOutput",
            dependencies: ["VideoCapturing", "MediaPublishing", "MediaContainers", "StreamTransport"],
            path: "Sources/Outputs/StreamOutput", swiftSettings: strict),
        // Live WebM to Icecast.
        .target(
            name: "IcecastOutput",
            dependencies: ["VideoCapturing", "MediaPublishing", "MediaContainers", "StreamTransport"],
            path: "Sources/Outputs/IcecastOutput", swiftSettings: strict),
        // Captures, live by WebRTC: to WHIP endpoints and Janus.
        .target(
            name: "WebRTCPublisher",
            dependencies: [
                "CaptureCore", "HTTPTransport", "MediaPublishing", "RTP", "StreamTransport", "VideoCapturing",
                "WebRTCTransport",
            ],
            path: "Sources/Outputs/WebRTCPublisher", swiftSettings: strict),
        // Encoded video and sound by RTP, to one receiver or a multicast group.
        .target(
            name: "RTPOutput",
            dependencies: ["VideoCapturing", "MediaPublishing", "RTP", "StreamTransport"],
            path: "Sources/Outputs/RTPOutput", swiftSettings: strict),
        // Encoded video and sound by RTSP, to any number of players and recorders.
        .target(
            name: "RTSPServer",
            dependencies: [
                "CaptureCore", "Digests", "MediaPublishing", "RTP", "ServerTransport", "StreamTransport",
                "VideoCapturing",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ], path: "Sources/Outputs/RTSPServer", swiftSettings: strict),
        // The frames of an MJPEGServer by WebRTC, at its port. Apart, so that only its users link WebRTC.
        .target(
            name: "WebRTCViewing",
            dependencies: [
                "MJPEGServer", "MediaPublishing", "RTP", "VideoCapturing", "WebRTCPublisher", "WebRTCTransport",
            ], path: "Sources/Outputs/WebRTCViewing", swiftSettings: strict),
        // Sockets, for this package alone.
        .target(name: "StreamTransport", dependencies: ["CaptureCore"], swiftSettings: strict),
        // Connections of WebRTC (ICE, DTLS, SRTP), for this package alone.
        .target(
            name: "WebRTCTransport", dependencies: ["CaptureCore", "StreamTransport", "CNice", "COpenSSL"],
            swiftSettings: strict),
        // RTP, RTCP and session descriptions, for this package alone. No Foundation, no C library.
        .target(name: "RTP", dependencies: ["CaptureCore", "H264Bitstream"], swiftSettings: strict),
        // HTTP by libcurl, for what captures from servers; for this package alone, but for credentials and certificates.
        .target(name: "HTTPTransport", dependencies: ["CaptureCore", "CLibCURL"], swiftSettings: strict),
        // For everyone's tests: the conformance suite, faults, a virtual clock.
        .target(
            name: "CapturerTestKit", dependencies: ["AudioCapturing", "PacketCapturing", "VideoCapturing", "Digests"],
            swiftSettings: strict),
        // One capturer each; none imports another capturer, or a codec.
        .target(
            name: "CameraCapturer",
            dependencies: [
                "VideoCapturing", "PacketCapturing", "FrameProcessing", "H264Bitstream", "V4L2Support", "CLibV4L2",
            ],
            path: "Capturers/CameraCapturer", swiftSettings: strict),
        // Apart from the tool, since libcamera starts threads when a program loads it: a separate program is the tool with
        // libcamera's cameras.
        .target(
            name: "LibcameraCapturer", dependencies: ["VideoCapturing", "FrameProcessing", "CLibcamera"],
            path: "Capturers/LibcameraCapturer", swiftSettings: strict),
        // C++, compiled against the libcamera that is installed; without one its functions say so.
        .target(name: "CLibcamera", dependencies: ["CLibcameraFlags"], path: "Sources/System/CLibcamera"),
        .target(
            name: "MJPEGCapturer", dependencies: ["VideoCapturing", "FrameProcessing", "HTTPTransport", "CLibCURL"],
            path: "Capturers/MJPEGCapturer", swiftSettings: strict),
        .target(
            name: "MicrophoneCapturer", dependencies: ["AudioCapturing", "CALSA"], path: "Capturers/MicrophoneCapturer",
            swiftSettings: strict),
        .target(
            name: "NoiseCapturer", dependencies: ["VideoCapturing", "CNoiseKernel"], path: "Capturers/NoiseCapturer",
            swiftSettings: strict),
        .target(
            name: "RadioCapturer", dependencies: ["AudioCapturing", "RadioPlayer"],
            path: "Capturers/RadioCapturer", swiftSettings: strict),
        .target(
            name: "PatternCapturer", dependencies: ["VideoCapturing", "FrameProcessing"],
            path: "Capturers/PatternCapturer", swiftSettings: strict),
        .target(
            name: "ScreenCapturer", dependencies: ["VideoCapturing", "FrameProcessing", "XDisplay", "CLibXCB"],
            path: "Capturers/ScreenCapturer", swiftSettings: strict),
        .target(
            name: "FileCapturer",
            dependencies: ["AudioCapturing", "VideoCapturing", "FrameProcessing", "MediaContainers"],
            path: "Capturers/FileCapturer", swiftSettings: strict),
        .target(
            name: "StreamCapturer",
            dependencies: ["VideoCapturing", "FrameProcessing", "H264Bitstream", "StreamTransport"],
            path: "Capturers/StreamCapturer", swiftSettings: strict),
        .target(
            name: "ToneCapturer", dependencies: ["AudioCapturing"], path: "Capturers/ToneCapturer",
            swiftSettings: strict),
        // One loop in C, compiled for several instruction sets, of which the machine's is chosen at run time.
        .target(name: "CNoiseKernel", path: "Sources/System/CNoiseKernel"),
        // The command-line tool; all of it but the call of its entry is a library, for tests and fuzzing.
        .executableTarget(name: "capturer-demo", dependencies: ["CaptureTool"], swiftSettings: strict),
        .executableTarget(
            name: "capturer-demo-libcamera", dependencies: ["CaptureTool", "LibcameraCapturer", "VideoCapturing"],
            swiftSettings: strict),
        .target(
            name: "CaptureTool", dependencies: (isSmall ? smallToolModules : toolModules).map { .byName(name: $0) },
            exclude: isSmall ? ["Catalog/DemoCatalog.swift", "Sound"] : ["Catalog/SmallCatalog.swift"],
            swiftSettings: strict),
        system(
            "CLibAV", pkgConfig: "libavformat",
            ["libavformat-dev", "libavcodec-dev", "libavutil-dev", "libswscale-dev"]),
        system("CLibCURL", pkgConfig: "libcurl", ["libcurl4-openssl-dev"]),
        system("CLibYUV", ["libyuv-dev"]),
        system("CLibV4L2", pkgConfig: "libv4l2", ["libv4l-dev"]),
        system(
            "CLibXCB",
            [
                "libxcb1-dev", "libxcb-composite0-dev", "libxcb-damage0-dev", "libxcb-randr0-dev", "libxcb-shm0-dev",
                "libxcb-xfixes0-dev", "libxcb-xinput-dev",
            ]),
        system("CLibMD", pkgConfig: "libmd", ["libmd-dev"]),
        system("CDBus", pkgConfig: "dbus-1", ["libdbus-1-dev"]),
        system("CPipeWire", pkgConfig: "libpipewire-0.3", ["libpipewire-0.3-dev"]),
        system("COpenH264", pkgConfig: "openh264", ["libopenh264-dev"]),
        system("COpus", pkgConfig: "opus", ["libopus-dev"]),
        system("CALSA", pkgConfig: "alsa", ["libasound2-dev"]),
        system("CLibcameraFlags", pkgConfig: "libcamera", ["libcamera-dev"]),
        system("CMPG123", pkgConfig: "libmpg123", ["libmpg123-dev"]),
        system("CNice", pkgConfig: "gobject-2.0", ["libnice-dev"]),
        system("COpenSSL", pkgConfig: "openssl", ["libssl-dev"]),
        // The other end in tests.
        system("CSRTP", pkgConfig: "libsrtp2", ["libsrtp2-dev"]),
        system("CLibVPX", pkgConfig: "vpx", ["libvpx-dev"]),
        // Tests mirror Sources and Capturers; what several of them need is in TestTools.
        .target(
            name: "TestTools", dependencies: ["PacketCapturing", "VideoCapturing"], path: "Tests/TestTools",
            swiftSettings: strict),
        .target(
            name: "XTestTools", dependencies: ["VideoCapturing", "CLibXCB"], path: "Tests/XTestTools",
            swiftSettings: strict, linkerSettings: [.linkedLibrary("xcb-xtest")]),
        .testTarget(
            name: "VideoCapturingTests", dependencies: ["VideoCapturing", "CapturerTestKit", "TestTools"],
            swiftSettings: strict),
        .testTarget(
            name: "AudioCapturingTests", dependencies: ["AudioCapturing", "CapturerTestKit", "TestTools"],
            swiftSettings: strict),
        .testTarget(
            name: "CapturerTestKitTests",
            dependencies: [
                "AudioCapturing", "CapturerTestKit", "Digests", "PacketCapturing", "TestTools", "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "PacketCapturingTests", dependencies: ["PacketCapturing", "CapturerTestKit", "TestTools"],
            swiftSettings: strict),
        .testTarget(
            name: "FrameProcessingTests", dependencies: ["FrameProcessing", "CapturerTestKit", "VideoCapturing"],
            swiftSettings: strict),
        .testTarget(
            name: "MotionDetectionTests",
            dependencies: ["MotionDetection", "FrameProcessing", "JPEGCodec", "TestTools", "VideoCapturing"],
            swiftSettings: strict),
        .testTarget(
            name: "MediaPublishingTests",
            dependencies: [
                "MediaPublishing", "FileOutput", "MediaContainers", "VP8Codec", "NoiseCapturer", "FrameProcessing",
                "AudioCapturing", "OpusCodec", "CapturerTestKit", "PacketCapturing", "TestTools", "ToneCapturer",
                "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "MediaContainersTests",
            dependencies: [
                "AudioCapturing", "CapturerTestKit", "H264Bitstream", "MediaContainers", "TestTools", "ToneCapturer",
                "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "WebRTCTransportTests",
            dependencies: ["WebRTCTransport", "CaptureCore", "CSRTP", "StreamTransport", "TestTools"],
            swiftSettings: strict),
        .testTarget(
            name: "StreamOutputTests",
            dependencies: [
                "StreamOutput", "CapturerTestKit", "H264Bitstream", "H264Codec", "MediaPublishing", "NoiseCapturer",
                "TestTools", "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "IcecastOutputTests",
            dependencies: [
                "IcecastOutput", "AudioCapturing", "CapturerTestKit", "MediaContainers", "MediaPublishing", "TestTools",
                "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "WebRTCPublisherTests",
            dependencies: [
                "WebRTCPublisher", "CaptureCore", "CapturerTestKit", "HTTPTransport", "MediaPublishing", "TestTools",
                "VideoCapturing", "WebRTCTransport",
            ], swiftSettings: strict),
        .testTarget(
            name: "WebRTCViewingTests",
            dependencies: [
                "WebRTCViewing", "CaptureCore", "HTTPTransport", "MJPEGServer", "MediaPublishing", "VP8Codec",
                "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "FFmpegContainersTests",
            dependencies: [
                "FFmpegContainers", "CapturerTestKit", "H264Bitstream", "H264Codec", "MediaContainers",
                "PacketCapturing", "TestTools", "VideoCapturing",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FFmpegMuxingTests",
            dependencies: [
                "AudioCapturing", "FFmpegCodec", "FFmpegMuxing", "FFmpegContainers", "FileOutput", "MediaContainers",
                "MediaPublishing", "OpusCodec", "VP8Codec", "CapturerTestKit", "TestTools", "VideoCapturing",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FFmpegCodecTests",
            dependencies: ["AudioCapturing", "FFmpegCodec", "H264Bitstream", "TestTools", "VideoCapturing"],
            swiftSettings: strict),
        .testTarget(
            name: "V4L2CodecTests",
            dependencies: [
                "V4L2Codec", "CameraCapturer", "CapturerTestKit", "TestTools", "V4L2Support", "VideoCapturing",
                "CLibV4L2",
            ], swiftSettings: strict),
        .testTarget(
            name: "AudioResamplingTests", dependencies: ["AudioResampling", "AudioCapturing"], swiftSettings: strict),
        .testTarget(
            name: "AudioRenderingTests",
            dependencies: ["AudioRendering", "AudioCapturing", "CapturerTestKit", "TestTools"], swiftSettings: strict),
        .testTarget(
            name: "RTPTests", dependencies: ["RTP", "CaptureCore"], swiftSettings: strict),
        .testTarget(
            name: "RadioPlayerTests",
            dependencies: [
                "RadioPlayer", "AudioCapturing", "AudioRendering", "HTTPTransport", "MP3Codec", "CapturerTestKit",
                "TestTools",
            ], swiftSettings: strict),
        .testTarget(
            name: "RadioCapturerTests",
            dependencies: ["RadioCapturer", "RadioPlayer", "AudioCapturing", "CapturerTestKit", "TestTools"],
            swiftSettings: strict),
        .testTarget(
            name: "MP3CodecTests", dependencies: ["MP3Codec", "AudioCapturing", "TestTools"], swiftSettings: strict),
        .testTarget(
            name: "VP8CodecTests", dependencies: ["VP8Codec", "TestTools", "VideoCapturing"], swiftSettings: strict),
        .testTarget(
            name: "OpusCodecTests",
            dependencies: ["OpusCodec", "AudioCapturing", "CaptureCore", "MediaContainers", "TestTools"],
            swiftSettings: strict),
        .testTarget(
            name: "H264CodecTests", dependencies: ["H264Codec", "H264Bitstream", "FFmpegContainers", "VideoCapturing"],
            swiftSettings: strict),
        .testTarget(
            name: "RTPOutputTests",
            dependencies: [
                "RTPOutput", "AudioCapturing", "CapturerTestKit", "MediaPublishing", "NoiseCapturer", "OpusCodec",
                "TestTools", "ToneCapturer", "VP8Codec", "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "RTSPServerTests",
            dependencies: [
                "RTSPServer", "CapturerTestKit", "Digests", "MediaPublishing", "RTP", "ServerTransport", "TestTools",
                "VideoCapturing",
                .product(name: "NIOCore", package: "swift-nio"),
            ], swiftSettings: strict),
        .testTarget(
            name: "H264BitstreamTests", dependencies: ["H264Bitstream", "CaptureCore"], swiftSettings: strict),
        .testTarget(
            name: "JPEGCodecTests", dependencies: ["JPEGCodec", "FrameProcessing", "TestTools", "VideoCapturing"],
            swiftSettings: strict),
        .testTarget(
            name: "MJPEGCapturerTests",
            dependencies: [
                "MJPEGCapturer", "HTTPTransport", "JPEGCodec", "CapturerTestKit", "Digests", "TestTools",
                "VideoCapturing",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MJPEGServerTests",
            dependencies: [
                "MJPEGServer", "ServerTransport", "MJPEGCapturer", "JPEGCodec", "NoiseCapturer", "FrameProcessing",
                "CapturerTestKit",
                "Digests", "VideoCapturing",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], swiftSettings: strict),
        .testTarget(
            name: "StillCaptureTests",
            dependencies: [
                "StillCapture", "CapturerTestKit", "FileOutput", "FrameProcessing", "JPEGCodec", "MediaContainers",
                "MediaPublishing", "NoiseCapturer", "TestTools", "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "CameraCapturerTests",
            dependencies: [
                "CameraCapturer", "CapturerTestKit", "FrameProcessing", "H264Bitstream", "PacketCapturing", "TestTools",
                "V4L2Support", "VideoCapturing", "CLibV4L2",
            ],
            swiftSettings: strict),
        // A program rather than a test target: libcamera's threads do not belong into all other tests.
        .executableTarget(
            name: "libcamera-checks", dependencies: ["LibcameraCapturer", "CapturerTestKit", "VideoCapturing"],
            path: "Tests/LibcameraChecks", swiftSettings: strict),
        .testTarget(
            name: "FileCapturerTests",
            dependencies: [
                "FileCapturer", "AudioCapturing", "FFmpegContainers", "MediaContainers", "VP8Codec", "CapturerTestKit",
                "TestTools", "VideoCapturing",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CaptureToolTests",
            dependencies: [
                "AudioCapturing", "CaptureTool", "FileCapturer", "FileOutput", "FrameProcessing", "MediaContainers",
                "MediaPublishing",
                "NoiseCapturer", "RadioPlayer", "TestTools", "VP8Codec", "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "ScreenCapturerTests",
            dependencies: [
                "ScreenCapturer", "CapturerTestKit", "FrameProcessing", "TestTools", "VideoCapturing", "XTestTools",
                "CLibXCB",
            ],
            swiftSettings: strict, linkerSettings: [.linkedLibrary("xcb-render"), .linkedLibrary("xcb-xtest")]),
        .testTarget(
            name: "CompositorCapturerTests",
            dependencies: ["CompositorCapturer", "CapturerTestKit", "TestTools", "VideoCapturing"],
            swiftSettings: strict),
        .testTarget(
            name: "WindowPreviewTests",
            dependencies: [
                "WindowPreview", "SDLPreview", "JPEGCodec", "MediaPublishing", "NoiseCapturer", "TestTools",
                "VideoCapturing", "XTestTools", "CLibXCB",
            ], swiftSettings: strict),
        .testTarget(
            name: "PipeWireCapturerTests",
            dependencies: [
                "PipeWireCapturer", "PipeWireOutput", "PipeWireSupport", "CapturerTestKit", "FrameProcessing",
                "TestTools", "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "StreamCapturerTests",
            dependencies: [
                "StreamCapturer", "FFmpegContainers", "CapturerTestKit", "Digests", "H264Bitstream", "TestTools",
                "VideoCapturing",
            ], swiftSettings: strict),
        .testTarget(
            name: "MicrophoneCapturerTests",
            dependencies: [
                "MicrophoneCapturer", "Loudspeaker", "AudioCapturing", "AudioRendering", "CALSA", "CapturerTestKit",
                "TestTools",
            ], swiftSettings: strict),
        .testTarget(
            name: "ToneCapturerTests",
            dependencies: ["ToneCapturer", "AudioCapturing", "CapturerTestKit"], swiftSettings: strict),
        .testTarget(
            name: "NoiseCapturerTests", dependencies: ["NoiseCapturer", "CapturerTestKit", "VideoCapturing"],
            swiftSettings: strict),
        .testTarget(
            name: "PatternCapturerTests", dependencies: ["PatternCapturer", "CapturerTestKit", "VideoCapturing"],
            swiftSettings: strict),
    ]
)

// Each product's folder has a README.
for target in package.targets where libraries.contains(target.name) { target.exclude.append("README.md") }

// Builds few of the tests while one works on a module: CAPTURER_TESTS="RTPTests VP8CodecTests" swift build --build-tests
if let names = Context.environment["CAPTURER_TESTS"]?.split(separator: " ").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}

// The rest is not even looked at: no other package is fetched, no other library looked for.
if isSmall {
    let kept = Set(
        smallToolModules + [
            "CaptureCore", "CaptureTool", "Digests", "H264Bitstream", "CJPEG", "CLibMD", "CLibVPX", "CLibYUV",
            "CNoiseKernel", "capturer-demo",
        ])
    package.targets.removeAll { !kept.contains($0.name) }
    package.products.removeAll { $0.name != "capturer-demo" }
    package.dependencies = []
}
