import CapturerTestKit
import FileCapturer
import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct SeekAndPauseTests {
    private let folder = TemporaryFolder()

    private func capture(_ playback: FileCapturer.Playback = .realTime, clock: any CaptureClock) throws -> FileCapturer
    {
        try writeY4M(folder.file("clip.y4m"), frames: 10)
        return FileCapturer(path: folder.file("clip.y4m"), playback: playback, clock: clock)
    }

    @Test(arguments: FileCapturer.Pacing.allCases) func aSeekGoesOnWithoutAJump(pacing: FileCapturer.Pacing) throws {
        let capture = try capture(FileCapturer.Playback(pacing: pacing), clock: VirtualClock())
        let (frames, _) = try run(
            capture,
            Collector { [unowned capture] index in
                if index == 2 { try? capture.seek(to: .milliseconds(330)) }
                if index == 3 { try? capture.seek(to: .milliseconds(40)) }
            })
        #expect(frames.map(number) == [0, 1, 2, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        // Picture 8 is shown from its middle on: 10 ms later its time would be over.
        #expect(times(Array(frames.prefix(6))) == [0, 40, 80, 120, 160, 200])
    }

    @Test func aSeekEndsTheWaitForAPictureThatIsFarAway() throws {
        let clock = VirtualClock(.manual)
        let capture = try ListReader.capture(in: folder, .realTime, clock: clock) { _ in
            ListReader([0, 60_000, 60_040])
        }
        let collector = Collector()
        capture.videoCaptureConsumer = collector
        try capture.initCapture()
        try capture.startCapture()
        let began = try #require(clock.awaitSleeper()).advanced(by: .seconds(-60))
        try capture.seek(to: .milliseconds(60_040))
        #expect(eventually { clock.awaitSleeper(timeout: .milliseconds(10)) == began.advanced(by: .milliseconds(50)) })
        clock.advance(by: .milliseconds(50))
        #expect(eventually { collector.collected.map(number) == [0, 2] })
        capture.releaseCapture()
    }

    @Test func aSeekAtRestIsWhereTheNextStartBegins() throws {
        let capture = try capture(clock: VirtualClock())
        try capture.seek(to: .milliseconds(320))
        #expect(try run(capture).0.map(number) == [8, 9])
        try capture.seek(to: .milliseconds(360))
        let (frames, _) = try run(capture)
        #expect(frames.map(number) == [9])
        capture.releaseCapture()
    }

    @Test func aStopEndsASeekWithWhichTheNextStartBegins() throws {
        let isSeeking = Locked(false)
        let capture = try ListReader.capture(in: folder, .asFastAsPossible, clock: VirtualClock()) { request in
            let file = request.file!
            return ListReader((0..<10).map { $0 * 40 }) {
                guard
                    !isSeeking.withLock({ isSeeking in
                        defer { isSeeking = true }
                        return isSeeking
                    })
                else { return }
                while true { try file.checkInterruption() }
            }
        }
        let collector = Collector { [unowned capture] index in
            if index == 2 { try? capture.seek(to: .milliseconds(320)) }
        }
        capture.videoCaptureConsumer = collector
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { isSeeking.withLock { $0 } })
        try capture.stopCapture()
        #expect(capture.state == .stopped(.user))
        try capture.startCapture()
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        #expect(collector.collected.map(number) == [0, 1, 2, 8, 9])
        capture.releaseCapture()
    }

    @Test func aPipeDoesNotSeek() throws {
        let capture = try ListReader.capture(in: folder, .realTime, clock: VirtualClock()) { _ in
            ListReader([0], canRewind: false)
        }
        try capture.initCapture()
        #expect { try capture.seek(to: .zero) } throws: { ($0 as? CaptureError)?.code == .formatUnsupported }
    }

    @Test func aPauseShowsAsTime() throws {
        let clock = VirtualClock(.manual)
        let capture = try capture(clock: clock)
        let collector = Collector()
        capture.videoCaptureConsumer = collector
        try capture.initCapture()
        try capture.startCapture()
        #expect(clock.awaitSleeper() != nil)
        #expect(collector.collected.count == 1)
        capture.pause()
        #expect(capture.isPaused)
        #expect(eventually { capture.state == .interrupted(.paused) })
        clock.advance(by: .seconds(1))
        capture.resume()
        #expect(clock.awaitSleeper() != nil)
        #expect(collector.collected.count == 1)
        clock.advance(by: .milliseconds(40))
        #expect(eventually { collector.collected.count == 2 })
        #expect(times(collector.collected) == [0, 1040])
        #expect(capture.state == .running)
        capture.releaseCapture()
    }

    @Test func aPausedCaptureStopsAndGoesOn() throws {
        let capture = try capture(.asFastAsPossible, clock: VirtualClock())
        let collector = Collector()
        capture.videoCaptureConsumer = collector
        try capture.initCapture()
        capture.pause()
        try capture.startCapture()
        #expect(eventually { capture.state == .interrupted(.paused) })
        try capture.stopCapture()
        #expect(collector.collected.isEmpty)
        try capture.startCapture()
        #expect(eventually { capture.state == .interrupted(.paused) })
        capture.resume()
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        #expect(collector.collected.map(number) == Array(0..<10))
        #expect(times(collector.collected) == (0..<10).map { $0 * 40 })
    }
}
