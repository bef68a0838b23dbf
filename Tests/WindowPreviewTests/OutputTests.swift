import MediaPublishing
import NoiseCapturer
import TestTools
import Testing
import VideoCapturing
import XTestTools

@testable import WindowPreview

extension WindowPreviewTests {
    /// The window as an output of a publisher.
    @Suite struct OutputTests {
        @Test func quittingEndsThisOutputAlone() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try OutputRun(screen)
            try run.client.point(atX: 10, y: 10)
            try run.client.type(Key.q)
            #expect(eventually { run.ends == ["completed 0"] })
            try run.expectTheOtherGoesOn()
            #expect(eventually { (try? run.client.topLevelWindows().contains(run.window)) == false })
            try run.publisher.stop()
            #expect(run.ends == ["completed 0"])
            let statistics = run.publisher.statistics.outputs[0]
            #expect(!statistics.hasFailed)
            #expect(statistics.statistics.summary.hasPrefix("Showed "))
        }

        @Test func closingEndsThisOutputAlone() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try OutputRun(screen)
            try run.client.askToClose(run.window)
            #expect(eventually { run.ends == ["completed 0"] })
            try run.expectTheOtherGoesOn()
        }

        @Test func losingTheDisplayFailsThisOutputAlone() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try OutputRun(screen)
            screen.crash()
            #expect(eventually { run.ends == ["failed 0"] })
            try run.expectTheOtherGoesOn()
        }

        @Test func theOptions() throws {
            func configuration(_ options: [String: String]) throws -> WindowPreview.Configuration {
                let values = OptionValues(options.mapValues { [$0] })
                let output = try OutputCatalog([.window]).makeOutput("window", options: values) as? WindowOutput
                return try #require(output).configuration
            }
            #expect(try configuration([:]).mirrors == nil)
            let full = try configuration(["display": ":7", "full-screen": "", "mirror": ""])
            #expect(full.display == ":7" && full.isFullScreen && full.mirrors == true)
        }

        @Test func withoutADisplayNothingIsOpened() throws {
            let publisher = MediaPublisher(video: NoiseCapturer(format: .i420(width: 64, height: 48), frameRate: 30))
            defer { publisher.close() }
            let output = WindowOutput(configuration: WindowPreview.Configuration(display: ":7654"))
            try publisher.add(output)
            let error = #expect(throws: CaptureError.self) { try publisher.start() }
            #expect(error?.code == .deviceNotFound)
            #expect(output.outputStatistics.summary.isEmpty)
        }
    }
}

/// A run with a window and another output.
private final class OutputRun {
    let publisher: MediaPublisher
    let client: XClient
    let window: UInt32
    private let log = Locked<[String]>([])
    private let other = FrameCounter()

    init(_ screen: VirtualScreen) throws {
        client = try XClient(screen)
        publisher = MediaPublisher(video: NoiseCapturer(format: .i420(width: 64, height: 48), frameRate: 30))
        let output = WindowOutput(configuration: WindowPreview.Configuration(display: screen.name))
        try publisher.add(output)
        publisher.setEventHandler { [log] event in
            log.withLock { log in
                switch event {
                case .outputCompleted(let id): log.append("completed \(id.index)")
                case .outputsFailed(let ids, _): log += ids.map { "failed \($0.index)" }
                case .ended, .warning: break
                }
            }
        }
        try publisher.video.add(other, name: "other")
        try publisher.start()
        guard
            eventually({
                output.outputStatistics.details.contains { name, value in
                    if case .integer(let width) = value, name == "width" { width == 64 } else { false }
                }
            })
        else { throw XClient.Failure(description: "no frame is shown") }
        window = try client.topLevelWindows().last ?? 0
    }

    deinit { publisher.close() }

    var ends: [String] { log.withLock { $0 } }

    func expectTheOtherGoesOn() throws {
        let count = other.count
        #expect(eventually { other.count > count + 1 })
        #expect(!publisher.isActive)
    }
}

private final class FrameCounter: VideoCaptureConsumer {
    private let frames = Locked(0)
    var count: Int { frames.withLock { $0 } }
    func consumeFrame(_ frame: VideoFrame) { frames.withLock { $0 += 1 } }
}
