// The one file of the tool that knows capturers, codecs and outputs by name. A new one is a line here.
import AudioCapturing
import CameraCapturer
import CompositorCapturer
import FFmpegCodec
import FFmpegContainers
import FFmpegMuxing
import FileCapturer
import FileOutput
import FrameProcessing
import H264Codec
import IcecastOutput
import JPEGCodec
import Loudspeaker
import LoudspeakerOutput
import MJPEGCapturer
import MJPEGServer
import MediaPublishing
import MicrophoneCapturer
import NoiseCapturer
import OpusCodec
import PatternCapturer
import PipeWireCapturer
import PipeWireOutput
import RTPOutput
import RTSPServer
import RadioCapturer
import SDLPreview
import ScreenCapturer
import StillCapture
import StreamCapturer
import StreamOutput
import ToneCapturer
import V4L2Codec
import V4L2Output
import VP8Codec
import VideoCapturing
import WebRTCPublisher
import WebRTCViewing
import WindowPreview

extension PacketFileReader: RecordingReader {}

/// What `capturer-demo` offers.
let demoCatalog = ToolCatalog(
    sources: CapturerCatalog([
        .noise,
        .pattern,
        .camera,
        .screen(onWayland: .waylandScreen, orDirectly: .compositor),
        .pipeWire,
        .file(decoders: [VP8Decoder.factory], readers: [.ffmpeg]),
        .mjpeg,
        .stream(decoders: [H264Decoder.factory, VP8Decoder.factory], demuxers: [.ffmpeg]),
    ]),
    encoders: [.vp8, .openH264] + EncoderEntry.ffmpeg + [.v4l2],
    outputs: OutputCatalog(
        OutputEntry.files + OutputEntry.ffmpeg + [
            .stills,
            .liveServer,
            .tcp,
            .icecast,
            .whip,
            .janus,
            .rtp,
            .rtspServer,
            .loudspeaker,
            .pipeWire,
            .v4l2,
            .window(backends: [.x11, .sdl]),
            .terminal,
        ]),
    packetInputs: [
        "file": .file,
        "stream": .stream,
        "mjpeg": .network,
        "camera": .camera,
    ],
    audioSources: AudioCapturerCatalog([.tone, .microphone, .desktop, .radio]),
    audioEncoders: [.opus, .aac, .pcm],
    radio: RadioPlayback.command { Loudspeaker($0) },
    shorthands: [
        OutputShorthand(
            option: OptionDescription(
                "serve", .text("PORT"), "live to browsers at [ADDRESS:]PORT; as -o serve://PORT",
                default: "off"),
            prefix: "serve://"),
        OutputShorthand(
            option: OptionDescription(
                "serve-rtsp", .text("PORT"), "live to recorders at [ADDRESS:]PORT; as -o serve-rtsp://PORT",
                default: "off"),
            prefix: "serve-rtsp://"),
        .preview,
    ],
    keyStills: { try RequestedStillOutput("capture-still-%03d.jpg") },
    eventStills: { publisher in
        let stills = StillCapture()
        try stills.attach(to: publisher, name: "stills of events")
        return { path, done in
            Task {
                let result: Result<Still, any Error>
                do { result = .success(try await stills.capture()) } catch { result = .failure(error) }
                // Not on the tasks' threads, which must not wait for a disk.
                do throws(CaptureError) {
                    try CaptureThread(name: "event still") {
                        do {
                            try StillFile(path.replacing("%", with: "%%")).write(try result.get())
                            done(nil)
                        } catch {
                            done(error)
                        }
                    }
                } catch {
                    done(error)
                }
            }
        }
    },
    recordings: RecordingAccess(
        open: { try PacketFileReader(path: $0) },
        makeWriter: { try FFmpegMuxer($0, .init(format: $1, makesIndex: false)) }),
    checks: [
        { Finding.vp8() }, { Finding.openH264() }, { Finding.opus() }, { Finding.aac() }, { Finding.pixels() },
        { Finding.sdl() }, { Finding.v4l2Output() },
    ],
    examples: [
        ("--source noise", "to capture.webm"),
        ("--source camera --preset 352x288 --fps 30", "the camera's best mode"),
        ("--source screen --window firefox -o a.webm -o a.y4m", "a window, to two files"),
        ("--source camera --audio mic -o av.webm", "with sound"),
        ("--source camera --burst 20 -o shot-%02d.jpg", "twenty photographs"),
        ("--input clip.mp4 --fps max -o clip.webm", "as fast as it goes"),
        ("--source camera --audio mic -o whip:https://host/room", "live by WebRTC"),
        ("--input http://host/stream --login @FILE --serve 8080", "from network to browsers"),
    ])

extension PacketInput {
    /// Those for outputs that need frames.
    private static let decoders =
        [H264Decoder.factory, VP8Decoder.factory, JPEGDecoder.factory] + FFmpegVideoDecoder.factories

    /// The packets of a file.
    fileprivate static let file = PacketInput(isLive: false, passesUnasked: true, decoders: decoders) {
        request, isPaced in
        Source(capture: PacketFileCapturer(path: request.input ?? "", pacing: isPaced ? .clock : .unpaced))
    }

    /// The packets of the source that decodes network streams.
    fileprivate static let stream: PacketInput = {
        var input = network
        input.passesUnasked = true
        return input
    }()

    /// The packets of a network stream.
    fileprivate static let network = PacketInput(decoders: decoders, options: [OptionDescription.login.name]) {
        request, _ in
        let capture = PacketStreamCapturer(url: try request.streamURL())
        return Source(
            capture: capture,
            setNoticeHandler: { handler in
                capture.setEventHandler { event in
                    // One line for an outage; the status line has the state meanwhile.
                    if case .attemptFailed = event { return }
                    handler("\(event)")
                }
            })
    }

    /// The packets of a camera that encodes.
    fileprivate static let camera = PacketInput(
        decoders: decoders, options: CameraPacketCapturer.Configuration.options
    ) { request, _ in
        let camera = CameraPacketCapturer(try CameraPacketCapturer.Configuration(request))
        return Source(
            capture: camera,
            setNoticeHandler: { camera.setEventHandler(CameraCapturer.Event.handler($0)) },
            explanation: { camera.decision?.lines(rejectedLimit: 10) ?? [] },
            isInputAtFault: { camera.device == nil })
    }
}
