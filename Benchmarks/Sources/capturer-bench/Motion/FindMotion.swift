import Dispatch
import FileCapturer
import MotionDetection
import Synchronization
import VideoCapturing

/// The motion in a raw clip that is read as fast as possible: prints `BEGIN END AREA` of each event, in seconds of the clip and
/// as a fraction of the picture, and at the end `cpu MS FRAMES`, the milliseconds per frame. With `--idle` it only reads.
func findMotion(_ arguments: inout Arguments) throws {
    let capture = FileCapturer(path: try arguments.required("input"), playback: .asFastAsPossible)
    let events = Mutex<[MotionEvent]>([])
    let detector = MotionDetector { event in events.withLock { $0.append(event) } }
    let counter = FirstFrame(arguments.flag("idle") ? nil : detector)
    let publisher = VideoPublisher(capture)
    try publisher.add(InlineDelivery(counter), name: "motion", queue: .init(capacity: 1, policy: .block))

    let end = DispatchSemaphore(value: 0)
    let changes = capture.stateChanges()
    Task.detached {
        for await change in changes {
            if case .stopped = change.new { end.signal() }
        }
    }
    let usage = try Usage.of {
        try publisher.start()
        end.wait()
        try publisher.stop()
    }
    detector.connectFeedback(nil)
    publisher.close()
    let (start, frames) = counter.result
    for event in events.withLock({ $0 }) where event.kind == .ended {
        print(
            (event.start - start).seconds.fixed(2), (event.lastMotion - start).seconds.fixed(2), event.area.fixed(4))
    }
    print("cpu", (usage.cpu / Double(max(1, frames)) / 1e6).fixed(4), frames)
}

/// Counts the frames and keeps the time of the first.
private final class FirstFrame: VideoCaptureConsumer {
    private let consumer: (any VideoCaptureConsumer)?
    private let seen = Mutex((start: MediaTime.zero, frames: 0))

    init(_ consumer: (any VideoCaptureConsumer)?) { self.consumer = consumer }

    var result: (start: MediaTime, frames: Int) { seen.withLock { $0 } }

    func consumeFrame(_ frame: VideoFrame) {
        seen.withLock { seen in
            if seen.frames == 0 { seen.start = frame.timestamp }
            seen.frames += 1
        }
        consumer?.consumeFrame(frame)
    }
}
