import CapturerTestKit
import TestTools
import Testing
import VideoCapturing

@testable import MediaPublishing

/// Clips of a scripted stream, on a virtual clock.
@Suite struct TriggeredOutputTests {
    private let folder = TemporaryFolder()
    private let log = ClipLog()
    private let trigger = RecordingTrigger()

    /// An open output with its sink and its clock.
    private struct Recorder {
        let output: TriggeredOutput
        let sink: any PacketSink
        let clock: VirtualClock

        /// Hands over the packets of a range of milliseconds, with the clock in step.
        func send(_ range: Range<Int>, soundDelay: Int = 0) throws {
            try send(ClipStream.packets(range, soundDelay: soundDelay))
            let rest = ClipStream.time(range.upperBound) - clock.now
            if rest > .zero { clock.advance(by: rest) }
        }

        func send(_ packets: [MediaPacket]) throws {
            for packet in packets { try sink.write(packet) }
        }

        func end() throws {
            try sink.finish()
            try output.close(at: nil)
        }
    }

    private func record(
        preroll: Int = 10, postroll: Int = 5, bytes: Int = 64 << 20, split: SplitOutput.Interval? = nil,
        onWrite: @escaping @Sendable (String, MediaPacket) throws -> Void = { _, _ in }
    ) throws -> Recorder {
        let clock = VirtualClock(.manual, start: ClipStream.begin)
        let configuration = TriggeredOutput.Configuration(
            preroll: .seconds(preroll), postroll: .seconds(postroll), maximumBytes: bytes, split: split)
        let output = try TriggeredOutput(folder.file("c-%03d.webm"), configuration, clock: clock) { [log] path in
            LoggedFile(path, log) { try onWrite(path, $0) }
        }
        trigger.setEventHandler { [log] event in log.update { $0.events.append(event) } }
        var context = OutputContext(
            format: .i420(width: 16, height: 8), warn: { [log] warning in log.update { $0.warnings.append(warning) } })
        context.recording = trigger
        guard case .sink(let sink) = try output.open(context) else { throw DiskFailure() }
        (sink as? any FeedbackSink)?.connectFeedback(nil)
        try sink.begin(ClipStream.tracks)
        return Recorder(output: output, sink: sink, clock: clock)
    }

    private func times(_ contents: ClipLog.Contents, _ number: Int = 1, _ track: TrackID = ClipStream.pictures) -> [Int]
    {
        let path = folder.file("c-00\(number).webm")
        return (contents.packets[path] ?? []).filter { $0.track == track }
            .map { ClipStream.milliseconds($0.timestamp) }
    }

    private func every(_ step: Int, _ range: Range<Int>) -> [Int] {
        Array(stride(from: range.lowerBound, to: range.upperBound, by: step))
    }

    @Test(arguments: [-300, 0, 400]) func aClipHasAllOfItsTime(soundDelay: Int) throws {
        let recorder = try record()
        try recorder.send(0..<31_000, soundDelay: soundDelay)
        #expect(trigger.fire("door", detail: "front"))
        try recorder.send(31_000..<40_000, soundDelay: soundDelay)
        let contents = log.waitForEnds(1)
        #expect(times(contents) == every(100, 20_000..<36_000))
        #expect(times(contents, 1, ClipStream.sound) == every(20, 20_000..<36_000))
        #expect(contents.packets.values.first?.first { $0.track == ClipStream.pictures }?.isKeyFrame == true)
        try recorder.end()
        let events = log.waitForEnds(1).events
        #expect(events.map(\.phase) == [.begin, .end])
        #expect(events.allSatisfy { $0.reasons == ["door"] && $0.clip == 1 && $0.detail == "front" && $0.error == nil })
        #expect(abs((events[1].duration - .seconds(16)).seconds) < 0.11)
        #expect(log.waitForEnds(1).warnings.isEmpty)
        #expect(recorder.output.outputStatistics.summary.contains("1 clip"))
    }

    /// Sound of before the key frame that comes after the trigger is left out.
    @Test func lateSoundOfBeforeIsLeftOut() throws {
        let recorder = try record(preroll: 0, postroll: 1)
        try recorder.send(0..<4100, soundDelay: 400)
        trigger.fire(.key)
        try recorder.send(4100..<7000, soundDelay: 400)
        let contents = log.waitForEnds(1)
        #expect(times(contents) == every(100, 4000..<5100))
        #expect(times(contents, 1, ClipStream.sound) == every(20, 4000..<5100))
        try recorder.end()
    }

    /// A trigger that comes while a clip is recorded extends it, also one that comes while late sound is awaited.
    @Test func triggersExtendAClip() throws {
        let recorder = try record(postroll: 2)
        try recorder.send(0..<15_000, soundDelay: 400)
        trigger.fire(.key)
        try recorder.send(15_000..<16_000, soundDelay: 400)
        trigger.fire(.signal)
        // The pictures are past the end, the sound is not.
        try recorder.send(16_000..<18_200, soundDelay: 400)
        trigger.fire(.key)
        try recorder.send(18_200..<22_000, soundDelay: 400)
        let contents = log.waitForEnds(1)
        #expect(times(contents) == every(100, 4000..<20_200))
        #expect(times(contents, 1, ClipStream.sound) == every(20, 4000..<20_200))
        #expect(contents.events.last?.reasons == [.key, .signal])
        try recorder.end()
        #expect(log.waitForEnds(1).events.count == 2)
    }

    @Test func aTriggerAfterwardsBeginsAnother() throws {
        let recorder = try record(preroll: 3, postroll: 1)
        try recorder.send(0..<10_000)
        trigger.fire(.key)
        try recorder.send(10_000..<13_000)
        _ = log.waitForEnds(1)
        trigger.fire(.key)
        try recorder.send(13_000..<20_000)
        let contents = log.waitForEnds(2)
        #expect(times(contents, 1) == every(100, 6000..<11_000))
        // What both have is of before the second.
        #expect(times(contents, 2) == every(100, 10_000..<14_000))
        try recorder.end()
    }

    @Test func aReasonThatLastsKeepsTheClip() throws {
        let recorder = try record(preroll: 0, postroll: 1)
        try recorder.send(0..<4000)
        trigger.begin(.motion)
        trigger.begin(.motion)
        try recorder.send(4000..<9000)
        trigger.fire(.key)
        trigger.begin(.sound)
        trigger.end(.motion)
        try recorder.send(9000..<30_000)
        trigger.end(.sound)
        trigger.end(.sound)
        try recorder.send(30_000..<33_000)
        let contents = log.waitForEnds(1)
        #expect(times(contents) == every(100, 2000..<31_000))
        #expect(contents.events.last?.reasons == [.motion, .key, .sound])
        try recorder.end()
    }

    /// Twenty at once are one clip.
    @Test func manyTriggersAtOnceAreOneClip() throws {
        let recorder = try record()
        try recorder.send(0..<20_000)
        let done = Locked(0)
        for number in 0..<20 {
            try CaptureThread(name: "trigger") { [trigger] in
                trigger.fire(number % 2 == 0 ? .key : .http)
                done.withLock { $0 += 1 }
                done.wakeAll()
            }
        }
        #expect(done.wait(until: RunLog.limit) { $0 == 20 ? () : nil } != nil)
        try recorder.send(20_000..<30_000)
        let contents = log.waitForEnds(1)
        #expect(times(contents) == every(100, 10_000..<25_000))
        #expect(Set(contents.events.last?.reasons ?? []) == [.key, .http])
        try recorder.end()
        #expect(log.waitForEnds(1).events.count == 2)
    }

    /// The end of the run completes the clip.
    @Test func theEndOfTheRunCompletesAClip() throws {
        let recorder = try record()
        try recorder.send(0..<20_000)
        trigger.fire(.key)
        try recorder.send(20_000..<21_000)
        try recorder.end()
        #expect(times(log.waitForEnds(1)) == every(100, 10_000..<21_000))
        #expect(!trigger.fire(.key))
    }

    /// A source that gives nothing more: the clock ends the clip.
    @Test func theClockEndsAClipWithoutPackets() throws {
        let recorder = try record()
        try recorder.send(0..<20_000)
        trigger.fire(.key)
        recorder.clock.advance(by: .seconds(20))
        #expect(times(log.waitForEnds(1)) == every(100, 10_000..<20_000))
        // Nothing is there of before this one; it begins with the next key frame.
        trigger.fire(.key)
        try recorder.send(40_100..<46_000)
        #expect(times(log.waitForEnds(2), 2) == every(100, 42_000..<45_000))
        try recorder.end()
    }

    /// Of pictures that are reordered, those up to the end are decodable.
    @Test func reorderedPicturesAreWhole() throws {
        let recorder = try record(preroll: 0, postroll: 1)
        // Shown 0 300 100 200 600 400 500 …, decoded in that order.
        var packets: [MediaPacket] = []
        for group in 0..<20 {
            let base = group * 300
            packets += [
                ClipStream.picture(base + 300, isKey: group % 5 == 0, decoded: base),
                ClipStream.picture(base + 100, isKey: false, decoded: base + 100),
                ClipStream.picture(base + 200, isKey: false, decoded: base + 200),
            ]
        }
        try recorder.send(Array(packets[..<24]))
        recorder.clock.advance(by: .milliseconds(2400))
        trigger.fire(.key)
        try recorder.send(Array(packets[24...]))
        try recorder.end()
        let contents = log.waitForEnds(1)
        let written = contents.packets.values.first ?? []
        let decoded = written.compactMap { $0.decodeTimestamp.map(ClipStream.milliseconds) }
        // Two that are shown before the key frame are left out.
        #expect(decoded == [1500] + every(100, 1800..<3400))
        #expect(written.first?.isKeyFrame == true)
    }

    @Test func aFileThatFailsEndsItsClipAlone() throws {
        let full = DiskFailure()
        let recorder = try record(preroll: 3, postroll: 1) { path, packet in
            if path.hasSuffix("001.webm"), packet.timestamp > ClipStream.time(8000) { throw full }
        }
        try recorder.send(0..<10_000)
        trigger.fire(.key)
        let failed = log.waitForEnds(1)
        #expect(failed.events.last?.error != nil)
        #expect(failed.warnings.count == 1 && failed.warnings[0].contains("no space left"))
        trigger.fire(.key)
        try recorder.send(10_000..<13_000)
        #expect(times(log.waitForEnds(2), 2) == every(100, 6000..<11_000))
        try recorder.end()
        #expect(recorder.output.outputStatistics.summary.contains("1 clip is not whole"))
    }

    /// A disk that does not answer delays neither the encoder nor a trigger; what the memory cannot hold is missing, in whole
    /// groups.
    @Test func aSlowDiskLosesGroupsAndSaysSo() throws {
        let isOpen = Locked(false)
        let recorder = try record(preroll: 2, postroll: 60, bytes: 40_000) { _, _ in
            isOpen.wait(until: RunLog.limit) { $0 ? () : nil }
        }
        try recorder.send(0..<5000)
        trigger.fire(.key)
        try recorder.send(5000..<45_000)
        isOpen.withLock { $0 = true }
        isOpen.wakeAll()
        // The disk has caught up.
        _ = log.wait { ($0.packets.values.first?.last?.timestamp ?? .zero) > ClipStream.time(20_000) }
        try recorder.send(45_000..<70_000)
        let contents = log.waitForEnds(1)
        let written = times(contents)
        #expect(written.first == 2000 && written.last == 64_900)
        let gaps = zip(written, written.dropFirst()).filter { $1 - $0 != 100 }
        #expect(gaps.count == 1)
        #expect(gaps.allSatisfy { $1 % 2000 == 0 })
        #expect(contents.warnings.contains { $0.contains("too slow") })
        let sound = times(contents, 1, ClipStream.sound)
        #expect(zip(sound, sound.dropFirst()).allSatisfy { $0 < $1 })
        try recorder.end()
    }

    @Test func aLongEventIsInSeveralFiles() throws {
        let recorder = try record(preroll: 2, postroll: 11, split: .duration(.seconds(5)))
        try recorder.send(0..<6000, soundDelay: 300)
        trigger.fire(.key)
        try recorder.send(6000..<20_000, soundDelay: 300)
        let contents = log.waitForEnds(3)
        #expect(times(contents, 1) == every(100, 4000..<10_000))
        #expect(times(contents, 2) == every(100, 10_000..<16_000))
        #expect(times(contents, 3) == every(100, 16_000..<17_000))
        let sound = (1...3).flatMap { times(contents, $0, ClipStream.sound) }
        #expect(sound == every(20, 4000..<17_000))
        try recorder.end()
    }

    @Test func reasonsCanBeLimited() throws {
        let recorder = try record()
        trigger.setAccepted([.signal])
        try recorder.send(0..<3000)
        #expect(!trigger.fire(.http) && !trigger.isAccepted(.http) && trigger.isAccepted(.signal))
        #expect(trigger.fire(.signal))
        try recorder.end()
        #expect(log.waitForEnds(1).events.allSatisfy { $0.reasons == [.signal] })
    }

    /// Without a picture there is no file.
    @Test func aClipWithoutPicturesIsReported() throws {
        let recorder = try record()
        trigger.fire(.key)
        try recorder.end()
        let contents = log.wait { !$0.warnings.isEmpty }
        #expect(contents.warnings.count == 1 && contents.events.isEmpty)
    }

    /// Names of earlier runs are not used again.
    @Test func noFileIsOverwritten() throws {
        try folder.write([1], to: "c-001.webm")
        let recorder = try record()
        try recorder.send(0..<3000)
        trigger.fire(.key)
        try folder.write([2], to: "c-002.webm")
        try recorder.end()
        #expect(try readBytes(folder.file("c-001.webm")) == [1])
        #expect(log.waitForEnds(1).events.allSatisfy { !$0.path.hasSuffix("001.webm") })
    }

    @Test func framesCannotWait() {
        #expect(throws: OptionError.self) {
            try TriggeredOutput("a.y4m") { _ in ProbeOutput(FrameCounter()) }
        }
    }
}

private struct DiskFailure: Error, CustomStringConvertible {
    var description: String { "no space left" }
}

private final class FrameCounter: VideoCaptureConsumer {
    func consumeFrame(_ frame: VideoFrame) {}
}
