/// Where one capture's frames enter a publisher; tells the frames of captures that follow each other apart.
final class CaptureInlet: VideoCaptureConsumer {
    private let fanOut: FrameFanOut

    init(_ fanOut: FrameFanOut) {
        self.fanOut = fanOut
    }

    func consumeFrame(_ frame: VideoFrame) {
        fanOut.accept(frame, from: self)
    }
}
