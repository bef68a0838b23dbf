import FileCapturer
import VideoCapturing

/// The reports on a file that is played, for the fuzzer alone.
@_spi(Fuzzing)
public enum ReportProbe {
    /// All lines that a run may write, of numbers that came from the file.
    ///
    /// - Parameter time: of the frames' own times, from the first to the last.
    public static func lines(_ capture: FileCapturer, time: Duration) -> [String] {
        let format = capture.captureSettings().format
        let statistics = capture.statistics
        let run = RunSnapshot(
            elapsed: time, source: capture.sourceDescription, width: format.imageWidth, height: format.imageHeight,
            pixelFormat: format.pixelFormat, askedRate: format.estimatedFramesPerSecond,
            measuredRate: statistics.measuredFrameRate, captured: statistics.framesDelivered, capturedTime: time,
            lost: statistics.framesDropped, progress: capture.progress, consumers: [], outputs: [])
        return [
            StatisticsJSON.line("status", run), StatusLine(run).text(columns: 80), Summary.beginning(run),
            Summary.captureLine(run),
        ]
    }
}
