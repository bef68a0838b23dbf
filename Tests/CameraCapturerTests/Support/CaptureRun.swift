import TestTools
import VideoCapturing

import struct TestTools.Stopwatch

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A capture of a ``StreamingMachine``'s camera, with what came of it: frames, states and events.
final class CaptureRun {
    let machine: StreamingMachine
    let capture: CameraCapturer
    let probe = FrameProbe()
    private let told = Locked<[CameraCapturer.Event]>([])
    private let states = Locked<[CaptureState]>([])
    private let task: Task<Void, Never>

    var camera: FakeCamera { machine.camera }
    var events: [CameraCapturer.Event] { told.withLock { $0 } }
    var statistics: CameraCapturer.Statistics { capture.cameraStatistics }
    var dropped: CaptureStatistics.DropCounts { capture.statistics.framesDropped }

    init(
        _ machine: StreamingMachine = StreamingMachine(),
        _ configuration: CameraCapturer.Configuration = CameraCapturer.Configuration(desiredFrameRate: 200)
    ) {
        self.machine = machine
        capture = CameraCapturer(configuration, clock: MonotonicClock(), directory: machine.directory)
        capture.videoCaptureConsumer = probe
        let changes = capture.stateChanges()
        task = Task.detached { [states] in
            for await change in changes { states.withLock { $0.append(change.new) } }
        }
        capture.setEventHandler { [told] event in
            told.withLock { $0.append(event) }
            told.wakeAll()
        }
    }

    deinit {
        capture.releaseCapture()
        task.cancel()
    }

    /// Initializes, if that was not done, and starts.
    func start() throws(CaptureError) {
        if capture.state == .idle { try capture.initCapture() }
        try capture.startCapture()
    }

    /// A capture that has begun to deliver frames.
    static func running(
        _ machine: StreamingMachine = StreamingMachine(),
        _ configuration: CameraCapturer.Configuration = CameraCapturer.Configuration(desiredFrameRate: 200),
        frames: Int = 5
    ) throws -> CaptureRun {
        let run = CaptureRun(machine, configuration)
        try run.start()
        guard run.probe.waitForMore(frames) else { throw NoFrames() }
        return run
    }

    struct NoFrames: Error {}

    /// Stops when each frame that the camera has made was delivered or skipped, so that counts can be compared; false
    /// when that takes too long. A stop at any other time may overtake a frame that the camera has counted already.
    func drainAndStop() throws -> Bool {
        camera.set { $0.isSilent = true }
        let made = camera.get { Int($0.sequence) - $0.overruns }
        let isDrained = eventually { probe.count + Int(statistics.framesSkipped) == made }
        _ = try stop()
        return isDrained
    }

    /// How long the stop took in itself.
    func stop() throws -> Duration { try Stopwatch.time { try capture.stopCapture() } }

    func waitForEvent(_ event: CameraCapturer.Event, within limit: Duration = .seconds(60)) -> Bool {
        told.wait(until: MonotonicClock().now.advanced(by: limit)) { $0.contains(event) ? () : nil } != nil
    }

    /// Whether the capture was in this state at some time.
    func wasIn(_ state: CaptureState, within limit: Duration = .seconds(60)) -> Bool {
        eventually(within: limit) { states.withLock { $0.contains(state) } }
    }

    func waitForState(_ state: CaptureState, within limit: Duration = .seconds(60)) -> Bool {
        eventually(within: limit) { capture.state == state }
    }

    /// Whether the capture makes fewer system calls than `limit` in a time, as one that waits does and one that spins
    /// never does. It has ten such times for it: a busy machine moves retries from one of them into the next.
    func makesFewerCalls(than limit: Int, in time: Duration) -> Bool {
        (0..<10).contains { _ in
            let before = camera.callCount
            pause(time)
            return camera.callCount - before < limit
        }
    }

    /// What is left behind after the capture was released; nil when nothing is.
    var leak: String? {
        capture.releaseCapture()
        probe.set { $0.kept = [] }
        if camera.isOpen { return "the node is still open" }
        return camera.mappings == 0 ? nil : "\(camera.mappings) mappings are left"
    }
}

func pause(_ time: Duration) { usleep(UInt32(clamping: time.nanoseconds / 1000)) }

/// Runs `body` for each item on threads of their own, a few at a time, since they mostly wait; what they return, in
/// order.
func concurrently<Item: Sendable, Result: Sendable>(
    _ items: [Item], width: Int = 8, _ body: @escaping @Sendable (Item) -> Result
) async -> [Result] {
    await withCheckedContinuation { continuation in
        let next = Locked(0)
        let results = Locked([Result?](repeating: nil, count: items.count))
        let working = Locked(min(width, items.count))
        for _ in 0..<min(width, items.count) {
            let thread = try? CaptureThread(name: "trial") {
                while true {
                    let index = next.withLock { next in
                        next += 1
                        return next - 1
                    }
                    guard index < items.count else { break }
                    let result = body(items[index])
                    results.withLock { $0[index] = result }
                }
                let isLast = working.withLock { working in
                    working -= 1
                    return working == 0
                }
                if isLast { continuation.resume(returning: results.withLock { $0 }.compactMap(\.self)) }
            }
            precondition(thread != nil, "The system allows no thread for a trial.")
        }
    }
}
