#if canImport(Glibc)
    import Glibc
#endif

/// Measures this project's parts; see `Benchmarks/run`, which runs all of it and compares with other tools.
@main
struct CapturerBench {
    static let help = """
        usage: capturer-bench COMMAND [OPTIONS]

        Prints Markdown tables. CPU is that of the whole process, kernel included. All that is compared runs in
        turns; figures are medians of the turns.

          noise         noise in CPU per frame, next to memset
          runtime       what a frame costs besides its pixels
          allocations   heap allocations per frame and per chunk of sound; --stacks says who allocates
          memory        resident memory over a million frames
          latency       timestamp to packet, beyond the encoder's own time
          screen        a screen of which little changes: CPU and bytes per frame
          jpeg          JPEG pictures, beside libyuv and TurboJPEG: CPU per picture
          h264          H.264, beside openh264 alone: CPU and allocations per frame
          stills        an idle StillCapture: CPU per frame, and the memory of its ring
          all           all of these

          --quick       fewer turns and frames

        For comparisons with other programs:

          make-noise    noise to nowhere: --format nv12|i420|argb --size WxH --frames N
          vp8           a raw clip to VP8 in IVF, through the pipeline; --one-thread reads and encodes in turn
          bare          the same, the clip in memory, through libvpx alone; prints `CPU WALL` in seconds
                        both: --input CLIP --format nv12|i420 --size WxH --fps N --bitrate KBPS --output FILE
          camera        a camera to nowhere, until it is ended by a signal or has the frames: --device NODE
                        --format NV12|YUYV|… --size WxH --to null|nv12|vp8 [--fps N] [--bitrate KBPS]
                        [--latency --frames N]; to null in the camera's own format; with --latency prints
                        `FRAMES P50 P99 LARGEST`, in milliseconds from the driver's timestamp to the consumer, of
                        the frames after the first 90
          decode-mp3    a file of MP3 to samples that go nowhere: --input FILE
          encode-opus   raw 16-bit stereo of 48 kHz to Opus in WebM: --input FILE --output FILE [--bitrate BPS]
          take-stills   stills of a playing clip, one after the other: --input CLIP --folder DIR [--count N]
                        [--quality Q]; prints `P50 P99 RATE`, in milliseconds from request to file
          find-motion   the motion in a Y4M clip: --input CLIP [--idle]; prints `BEGIN END AREA` of each event, in seconds,
                        and `cpu MS FRAMES`, per frame; with --idle it reads and does nothing else
          show          a raw clip of NV12 in a window, until a signal ends it: --input CLIP --size WxH --fps N
                        [--from-memory]; prints frames shown and replaced, and the median latency in milliseconds
          publish       an IVF file of VP8 by WebRTC, without an encoder: --input FILE --to URL [--room R [--pin P]]
                        [--peers N] [--seconds N]; prints peers, CPU ms per second, resident MB, Mbit/s of a peer, how
                        late packets were handed over, p99 in ms, and heap allocations per packet; with --due also
                        when each was, with --stacks who allocates
        """

    static func main() {
        do {
            var arguments = try Arguments(CommandLine.arguments.dropFirst())
            let command = arguments.command
            try run(command, &arguments)
            try arguments.finish()
        } catch {
            let line = "capturer-bench: \(error)\n"
            _ = write(STDERR_FILENO, line, line.utf8.count)
            exit(error is UsageError ? 64 : 1)
        }
    }

    private static func run(_ command: String, _ arguments: inout Arguments) throws {
        switch command {
        case "help", "--help", "-h": print(help)
        case "noise": try NoiseBenchmark(Effort(&arguments)).run()
        case "runtime": try RuntimeBenchmark(Effort(&arguments)).run()
        case "allocations":
            try AllocationBenchmark(Effort(&arguments), printsStacks: arguments.flag("stacks")).run()
        case "memory": try MemoryBenchmark(Effort(&arguments)).run()
        case "latency": try LatencyBenchmark(Effort(&arguments)).run()
        case "screen": try ScreenBenchmark(Effort(&arguments)).run()
        case "jpeg": try JPEGBenchmark(Effort(&arguments)).run()
        case "h264": try H264Benchmark(Effort(&arguments)).run()
        case "stills": try StillBenchmark(Effort(&arguments)).run()
        case "decode-mp3": try decodeMP3(arguments.required("input"))
        case "encode-opus":
            try encodeOpus(
                input: arguments.required("input"), output: arguments.required("output"),
                bitrate: arguments.count("bitrate", default: 128_000))
        case "take-stills": try takeStills(&arguments)
        case "find-motion": try findMotion(&arguments)
        case "make-noise": try makeNoise(&arguments)
        case "vp8": try encodeFile(Clip(&arguments), isOnOneThread: arguments.flag("one-thread"))
        case "camera": try captureCamera(CameraRun(&arguments))
        case "show": try showClip(&arguments)
        case "publish": try publishPackets(&arguments)
        case "bare": try encodeBare(Clip(&arguments))
        case "all":
            let effort = Effort(&arguments)
            try NoiseBenchmark(effort).run()
            try RuntimeBenchmark(effort).run()
            try AllocationBenchmark(effort, printsStacks: false).run()
            try MemoryBenchmark(effort).run()
            try LatencyBenchmark(effort).run()
            try ScreenBenchmark(effort).run()
            try JPEGBenchmark(effort).run()
            try H264Benchmark(effort).run()
            try StillBenchmark(effort).run()
        default: throw UsageError("no command \(command); see capturer-bench help")
        }
    }
}
