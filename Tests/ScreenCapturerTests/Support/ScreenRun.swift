import ScreenCapturer
import TestTools
import Testing
import VideoCapturing
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A capture of a screen, with what came of it.
final class ScreenRun {
    struct Trouble: Error, CustomStringConvertible {
        let description: String
    }

    let capture: ScreenCapturer
    let probe = ScreenProbe()
    private let states = Locked<[CaptureState]>([])
    /// The events so far.
    let events = Locked<[ScreenCapturer.Event]>([])
    private let task: Task<Void, Never>

    init(_ configuration: ScreenCapturer.Configuration) {
        capture = ScreenCapturer(configuration)
        capture.videoCaptureConsumer = probe
        capture.setEventHandler { [events] event in events.withLock { $0.append(event) } }
        let changes = capture.stateChanges()
        task = Task.detached { [states] in
            for await change in changes { states.withLock { $0.append(change.new) } }
        }
    }

    /// A capture that has delivered its first frame; of ARGB, without the pointer and as fast as may be unless `change`
    /// says otherwise.
    static func running(
        _ screen: VirtualScreen, _ target: ScreenCapturer.Configuration.Target = .desktop,
        _ change: (inout ScreenCapturer.Configuration) -> Void = { _ in }
    ) throws -> ScreenRun {
        let run = ScreenRun(configuration(screen, target, change))
        try run.start()
        guard run.probe.wait(until: { !$0.isEmpty }) else {
            throw Trouble(description: "no frame; \(run.capture.state)")
        }
        return run
    }

    static func configuration(
        _ screen: VirtualScreen, _ target: ScreenCapturer.Configuration.Target = .desktop,
        _ change: (inout ScreenCapturer.Configuration) -> Void = { _ in }
    ) -> ScreenCapturer.Configuration {
        var configuration = ScreenCapturer.Configuration()
        configuration.display = screen.name
        configuration.target = target
        configuration.showsPointer = false
        configuration.pixelFormat = .argb
        configuration.frameRate = 100
        change(&configuration)
        return configuration
    }

    deinit {
        capture.releaseCapture()
        task.cancel()
    }

    func start() throws(CaptureError) {
        if capture.state == .idle { try capture.initCapture() }
        try capture.startCapture()
    }

    func waitForState(within limit: Duration = .seconds(60), _ condition: (CaptureState) -> Bool) -> Bool {
        eventually(within: limit) { condition(capture.state) }
    }

    var isInterrupted: Bool {
        if case .interrupted = capture.state { true } else { false }
    }

    /// Lets what is under way arrive, and gives how many frames have come by then. An issue when they go on coming.
    func settle(sourceLocation: SourceLocation = #_sourceLocation) -> Int {
        var count = -1
        let hasSettled = eventually {
            let last = count
            count = probe.count
            if count != last { pause(.milliseconds(80)) }
            return count == last
        }
        #expect(hasSettled, "frames go on coming though nothing changes", sourceLocation: sourceLocation)
        return count
    }
}

/// The error that a capture refuses to start with; nil when it starts.
func refusal(_ configuration: ScreenCapturer.Configuration) -> CaptureError? {
    let capture = ScreenCapturer(configuration)
    defer { capture.releaseCapture() }
    do {
        try capture.initCapture()
        try capture.startCapture()
        return nil
    } catch {
        return error
    }
}

func pause(_ time: Duration) { usleep(UInt32(clamping: time.nanoseconds / 1000)) }
