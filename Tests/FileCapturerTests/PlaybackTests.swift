import CapturerTestKit
import FileCapturer
import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct PlaybackTests {
    private let folder = TemporaryFolder()
    private let clock = VirtualClock()

    private func capture(frames: Int = 10, _ playback: FileCapturer.Playback) throws -> FileCapturer {
        try writeY4M(folder.file("clip.y4m"), frames: frames)
        return FileCapturer(path: folder.file("clip.y4m"), playback: playback, clock: clock)
    }

    @Test(arguments: FileCapturer.Pacing.allCases, [(0.5, 80, "25/2"), (2.0, 20, "50"), (0.1, 400, "5/2")])
    func theRateScalesTimes(pacing: FileCapturer.Pacing, speed: (rate: Double, step: Int64, fps: String)) throws {
        let capture = try capture(frames: 5, FileCapturer.Playback(pacing: pacing, rate: speed.rate))
        let began = clock.now
        let (frames, state) = try run(capture)
        #expect(state == .stopped(.endOfStream))
        #expect(times(frames) == (0..<5).map { $0 * speed.step })
        #expect(capture.captureSettings().format.estimatedFramesPerSecond == FrameRate(speed.fps))
        #expect(capture.fileFormat?.estimatedFramesPerSecond == 25)
        let waited = (clock.now - began).nanoseconds / 1_000_000
        // The last picture is shown for its time, too.
        #expect(waited == (pacing == .realTime ? 5 * speed.step : 0))
    }

    @Test(arguments: FileCapturer.Pacing.allCases) func aLoopHasNoGap(pacing: FileCapturer.Pacing) throws {
        let (frames, state) = try run(try capture(frames: 3, FileCapturer.Playback(pacing: pacing, plays: 3)))
        #expect(frames.map(number) == [0, 1, 2, 0, 1, 2, 0, 1, 2])
        #expect(times(frames) == (0..<9).map { $0 * 40 })
        #expect(state == .stopped(.endOfStream))
    }

    @Test func aLoopKeepsTheLastIntervalOfUnevenTimes() throws {
        let capture = try ListReader.capture(in: folder, FileCapturer.Playback(plays: 2), clock: clock) { _ in
            ListReader([0, 10, 50])
        }
        #expect(times(try run(capture).0) == [0, 10, 50, 90, 100, 140])
    }

    /// Matroska's times are whole milliseconds: the rate's own interval is meant.
    @Test func aLoopKeepsTheRateWhereTimesAreRounded() throws {
        let capture = try ListReader.capture(in: folder, FileCapturer.Playback(plays: 2), clock: clock) { _ in
            ListReader([0, 33, 67], rate: 30)
        }
        let frames = try run(capture).0
        #expect((frames[3].timestamp - frames[2].timestamp) == FrameRate(integerLiteral: 30).frameInterval)
    }

    @Test func aStillPicture() throws {
        func play(_ plays: Int?) throws -> [Int64] {
            times(
                try run(
                    ListReader.capture(in: folder, FileCapturer.Playback(plays: plays), clock: clock) { _ in
                        ListReader([0], rate: 10)
                    }
                ).0)
        }
        #expect(try play(1) == [0])
        #expect(try play(3) == [0, 100, 200])
    }

    @Test func onlyAPartIsPlayed() throws {
        let part = FileCapturer.Playback(plays: 2, start: .milliseconds(100), end: .milliseconds(200))
        let (frames, _) = try run(try capture(part))
        // Picture 2 is shown at 100 ms, for another 20.
        #expect(frames.map(number) == [2, 3, 4, 2, 3, 4])
        #expect(times(frames) == [0, 20, 60, 100, 120, 160])
    }

    @Test func aPipeBeginsWithTheFirstPictureAfterTheStart() throws {
        let capture = try ListReader.capture(in: folder, FileCapturer.Playback(start: .milliseconds(50)), clock: clock)
        { _ in
            ListReader([0, 40, 80, 120], canRewind: false)
        }
        #expect(try run(capture).0.map(number) == [2, 3])
    }

    @Test(arguments: [
        FileCapturer.Playback(rate: 0), FileCapturer.Playback(rate: 101), FileCapturer.Playback(rate: .nan),
        FileCapturer.Playback(plays: 0),
        FileCapturer.Playback(start: .seconds(-1)), FileCapturer.Playback(start: .seconds(2), end: .seconds(1)),
        FileCapturer.Playback(start: .seconds(1)),
    ])
    func whatCannotBePlayedIsTold(_ playback: FileCapturer.Playback) throws {
        let capture = try capture(playback)
        #expect { try capture.initCapture() } throws: { ($0 as? CaptureError)?.code == .invalidConfiguration }
        #expect(capture.state == .idle)
    }

    @Test func aPipeCannotBeLooped() throws {
        let capture = try ListReader.capture(in: folder, FileCapturer.Playback(plays: nil), clock: clock) { _ in
            ListReader([0], canRewind: false)
        }
        #expect { try capture.initCapture() } throws: { "\($0)".contains("once only") }
    }

    @Test func progressInRealTime() throws {
        let capture = try capture(FileCapturer.Playback(rate: 0.5, plays: 2, start: .milliseconds(80)))
        let seen = Locked<[PlaybackProgress]>([])
        _ = try run(
            capture, Collector { [unowned capture] _ in seen.withLock { $0.append(capture.progress) } })
        let all = seen.withLock { $0 }
        #expect(all[0].position == .zero)
        #expect(all[0].duration == .milliseconds(320))
        #expect(all[0].timeLeft == .milliseconds(1280))
        #expect(all[4].fraction == 0.5)
        #expect(all[12].timeLeft == .milliseconds(320))
        #expect(capture.progress.fraction == 1)
        #expect(capture.progress.timeLeft == .zero)
        #expect(capture.position == .milliseconds(400))
    }

    @Test func progressAsFastAsPossibleGoesByThePace() throws {
        let capture = try capture(.asFastAsPossible)
        let seen = Locked<[PlaybackProgress]>([])
        _ = try run(
            capture,
            Collector { [unowned capture, clock] _ in
                seen.withLock { $0.append(capture.progress) }
                clock.advance(by: .seconds(1))
            })
        let all = seen.withLock { $0 }
        #expect(all[0].timeLeft == nil)
        // Five of ten pictures in five seconds.
        #expect(abs((all[5].timeLeft ?? .zero).seconds - 5) < 0.001)
    }

    /// What a damaged file may state, and what a caller may ask for.
    @Test(
        arguments: FileCapturer.Pacing.allCases,
        [.zero, .nanoseconds(1), .seconds(9_000_000_000_000), .nanoseconds(Int64.max), .seconds(Int64.max)]
            as [Duration])
    func progressOfAbsurdDurations(pacing: FileCapturer.Pacing, duration: Duration) throws {
        for (rate, plays) in [(0.01, 1), (100, Int.max), (1, nil)] as [(Double, Int?)] {
            let playback = FileCapturer.Playback(pacing: pacing, rate: rate, plays: plays)
            let capture = try ListReader.capture(in: folder, playback, clock: clock) { _ in
                ListReader([0, 10, 20, 30], duration: duration)
            }
            let seen = Locked<[PlaybackProgress]>([])
            let collector = Collector { [unowned capture, clock] index in
                seen.withLock { $0.append(capture.progress) }
                clock.advance(by: .seconds(1))
                if index == 3 { try? capture.stopCapture() }
            }
            _ = try run(capture, collector)
            for progress in seen.withLock({ $0 }) {
                #expect(progress.position >= .zero)
                if let left = progress.timeLeft { #expect(left >= .zero && left <= .nanoseconds(Int64.max)) }
            }
        }
    }

    @Test(arguments: [1, 2]) func damageAtTheEndIsCounted(plays: Int) throws {
        let capture = try ListReader.capture(in: folder, FileCapturer.Playback(plays: plays), clock: clock) { _ in
            ListReader([0, 40], damagedAtEnd: 3)
        }
        let (frames, state) = try run(capture)
        #expect(frames.count == 2 * plays && state == .stopped(.endOfStream))
        #expect(capture.statistics.framesDropped.corrupt == UInt64(3 * plays))
    }
}
