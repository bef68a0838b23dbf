@_spi(Fuzzing) import CaptureTool
import FileCapturer
import Glibc
import MediaContainers
import Synchronization
import VideoCapturing

/// Plays the file that ``withFuzzFiles(_:_:)`` has written last, as the tool does with `--fps max`, and makes all
/// reports on each of its first pictures: no number in the file may end either.
public func playWithReports(decoders: [VideoDecoderFactory] = [], readers: [FrameReaderFactory] = []) {
    for playback in [
        FileCapturer.Playback(pacing: .asFastAsPossible),
        FileCapturer.Playback(
            pacing: .asFastAsPossible, rate: 0.01, plays: .max, start: .nanoseconds(1), end: .seconds(Int64.max)),
    ] {
        let capture = FileCapturer(
            path: "/proc/self/fd/\(memoryFile)", decoders: decoders, readers: readers, playback: playback)
        let reporter = Reporter(capture)
        capture.videoCaptureConsumer = reporter
        guard (try? capture.initCapture()) != nil else { return }
        // Large pictures of few bytes are slow and show nothing that small ones do not.
        let format = capture.captureSettings().format
        if format.imageWidth * format.imageHeight < 1 << 16, (try? capture.startCapture()) != nil {
            while capture.isCaptureStarted { usleep(20) }
        }
        reporter.report()
        capture.releaseCapture()
    }
}

private final class Reporter: VideoCaptureConsumer {
    private weak let capture: FileCapturer?
    private let times = Mutex<(first: MediaTime, last: MediaTime, count: Int)?>(nil)

    init(_ capture: FileCapturer) { self.capture = capture }

    func consumeFrame(_ frame: VideoFrame) {
        let count = times.withLock { times in
            times = (times?.first ?? frame.timestamp, frame.timestamp, (times?.count ?? 0) + 1)
            return times!.count
        }
        report()
        if count >= 8 { try? capture?.stopCapture() }
    }

    func report() {
        guard let capture else { return }
        let time = times.withLock { $0.map { $0.last - $0.first } ?? .zero }
        let lines = ReportProbe.lines(capture, progress: capture.progress, time: time)
        precondition(lines.allSatisfy { !$0.isEmpty && !$0.contains("\n") }, "a report is one line")
        precondition(!lines[0].contains(":?"), "there is no such number in JSON")
    }
}
