import FrameProcessing
import VideoCapturing

/// Shows frames on a terminal, at a modest rate. Behind a queue in which the newest frame wins, so that a slow
/// terminal delays nothing.
final class PreviewConsumer: VideoCaptureConsumer {
    private static let rate: FrameRate = 10

    private let terminal: Terminal
    private let keepsStatusRow: Bool
    private let processor = FrameProcessor(capacity: 2)
    private let state: Locked<State>

    private struct State {
        var limiter = FrameRateLimiter()
        var picture: HalfBlockPicture
    }

    /// - Parameter keepsStatusRow: whether the last row is for the status line.
    init(_ terminal: Terminal, keepsStatusRow: Bool) {
        self.terminal = terminal
        self.keepsStatusRow = keepsStatusRow
        state = Locked(State(picture: HalfBlockPicture(terminal.style.colors)))
    }

    func consumeFrame(_ frame: VideoFrame) {
        state.withLock { state in
            guard
                state.limiter.shouldPass(
                    frame.timestamp, sequenceNumber: frame.sequenceNumber, at: PreviewConsumer.rate)
            else { return }
            let terminal = self.terminal
            let size = terminal.size
            let upright = frame.orientation.swapsDimensions ? (frame.height, frame.width) : (frame.width, frame.height)
            let fitted = HalfBlockPicture.fit(
                width: upright.0, height: upright.1, columns: size.columns, rows: size.rows - (keepsStatusRow ? 1 : 0))
            let transform = FrameTransform(
                size: PixelSize(width: fitted.width, height: fitted.height), makesUpright: true, pixelFormat: .argb)
            // A picture that cannot be shown is left out; the outputs tell what is wrong with the frames.
            guard let scaled = try? processor.apply(transform, to: frame) else { return }
            state.picture.draw(scaled.buffer, columns: size.columns) { terminal.writePicture($0, size: size) }
        }
    }
}
