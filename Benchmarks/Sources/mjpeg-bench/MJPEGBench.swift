import Glibc
import MJPEGServer
import VideoCapturing

/// Measures the MJPEG server on loopback.
///
/// ```
/// mjpeg-bench serve PORT SECONDS [BYTES]    shows 30 pictures a second, of BYTES each (default 40000)
/// mjpeg-bench view PORT COUNT SECONDS       connects COUNT viewers to any server with uStreamer's stream
/// ```
/// Two processes, so that the server's CPU time is its own. Both print one line of figures.
@main
enum MJPEGBench {
    static func main() throws {
        raiseDescriptorLimit()
        let arguments = CommandLine.arguments.dropFirst()
        let numbers = arguments.dropFirst().compactMap { Int($0) }
        switch arguments.first {
        case "serve" where numbers.count >= 2:
            try serve(port: numbers[0], seconds: numbers[1], bytes: numbers.count > 2 ? numbers[2] : 40_000)
        case "view" where numbers.count == 3:
            var viewers = try Viewers(port: numbers[0], count: numbers[1])
            try viewers.watch(seconds: numbers[2])
            print(viewers.report(seconds: numbers[2]))
        default:
            print("usage: mjpeg-bench serve PORT SECONDS [BYTES] | view PORT COUNT SECONDS")
            exit(64)
        }
    }

    private static func serve(port: Int, seconds: Int, bytes: Int) throws {
        var configuration = MJPEGServerConfiguration()
        configuration.port = port
        let server = MJPEGServer(configuration: configuration)
        print(try server.start().url)
        fflush(nil)
        let clock = MonotonicClock()
        let begin = clock.now
        let wake = WakeSignal()
        let picture = [0xFF, 0xD8] + [UInt8](repeating: 0x55, count: bytes - 4) + [0xFF, 0xD9]
        for index in 0..<Int64(seconds * 30) {
            clock.wait(until: begin.advanced(by: FrameRate(30, per: 1)!.time(ofFrame: index)), or: wake)
            let buffer = try picture.withUnsafeBytes { bytes throws(CaptureError) in
                try PixelBuffer.compressed(bytes, as: .mjpeg, width: 640, height: 480)
            }
            server.consumeFrame(VideoFrame(buffer: buffer, timestamp: clock.now))
        }
        let statistics = server.statistics
        server.stop()
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let user = Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) / 1e6
        let system = Double(usage.ru_stime.tv_sec) + Double(usage.ru_stime.tv_usec) / 1e6
        print(
            "server: sent \(statistics.framesSent), skipped \(statistics.framesSkipped), user \(user) s, system \(system) s, "
                + "memory \(usage.ru_maxrss) KB, to kernel p50 \(statistics.medianLatency?.seconds ?? 0) s, "
                + "p99 \(statistics.latencyOf99Percent?.seconds ?? 0) s")
    }

    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
