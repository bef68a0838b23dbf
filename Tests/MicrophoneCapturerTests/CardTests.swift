import AudioCapturing
import CapturerTestKit
import TestTools
import Testing

@testable import MicrophoneCapturer

/// Cards that are pulled and come back, with their old number or another one.
@Suite struct CardTests {
    private static let microphone = SoundCard(id: "Mic", usbID: "0d8c:0014")
    private static let other = SoundCard(id: "Cam", usbID: "046d:0825")
    /// Another card with the identifier of the first: many are called `Device`.
    private static let namesake = SoundCard(id: "Mic", usbID: "08bb:2902")

    /// A capture of the card with the number 1 that has begun, and what it has recorded.
    private func recording(
        _ name: String, of cards: ScriptedCards, at number: Int = 1
    ) throws -> (MicrophoneCapturer, RecordingAudioConsumer) {
        cards.plug(Self.microphone, at: number)
        let capture = MicrophoneCapturer(name, chunkDuration: .milliseconds(5), system: cards.system)
        let recorder = RecordingAudioConsumer()
        capture.audioCaptureConsumer = recorder
        try capture.initCapture()
        try capture.startCapture()
        #expect(recorder.waitForChunks(3))
        return (capture, recorder)
    }

    @Test(arguments: ["hw:1,0", "plughw:1", "hw:Mic", "hw:CARD=1,DEV=0", "plughw:DEV=0,CARD=1", "sysdefault:1"])
    func aCardIsFollowedToAnotherNumber(name: String) throws {
        let cards = ScriptedCards()
        let (capture, recorder) = try recording(name, of: cards)
        cards.pull(1)
        #expect(eventually { capture.state == .interrupted(.deviceDisconnected) }, "\(capture.state)")
        // In its place, and looked at before the first one is back.
        cards.plug(Self.other, at: 1)
        let looks = cards.looks
        #expect(eventually { cards.looks > looks + 1 })
        #expect(capture.state == .interrupted(.deviceDisconnected))
        let before = recorder.count
        cards.plug(Self.microphone, at: 2)
        #expect(recorder.waitForChunks(before + 3))
        #expect(capture.state == .running)
        capture.releaseCapture()
        #expect(cards.opened.map(\.card) == [Self.microphone, Self.microphone], "\(cards.opened)")
        #expect(capture.statistics.interruptions == 1)
    }

    @Test(arguments: ["hw:1,0", "plughw:CARD=Mic,DEV=0"])
    func anotherCardWithItsIdentifierIsNotRecorded(name: String) throws {
        let cards = ScriptedCards()
        let (capture, recorder) = try recording(name, of: cards)
        cards.pull(1)
        cards.plug(Self.namesake, at: 1)
        #expect(eventually { capture.state == .interrupted(.deviceDisconnected) }, "\(capture.state)")
        let looks = cards.looks
        #expect(eventually { cards.looks > looks + 1 })
        cards.pull(1)
        let before = recorder.count
        cards.plug(Self.microphone, at: 1)
        #expect(recorder.waitForChunks(before + 3))
        capture.releaseCapture()
        #expect(cards.opened.map(\.card) == [Self.microphone, Self.microphone], "\(cards.opened)")
    }

    /// The default device is another card by now.
    @Test func theCardOfTheDefaultDeviceIsFollowed() throws {
        let cards = ScriptedCards()
        let (capture, recorder) = try recording("default", of: cards, at: 0)
        cards.pull(0)
        #expect(eventually { capture.state == .interrupted(.deviceDisconnected) }, "\(capture.state)")
        cards.plug(Self.other, at: 0)
        let before = recorder.count
        cards.plug(Self.microphone, at: 2)
        #expect(recorder.waitForChunks(before + 3))
        capture.releaseCapture()
        #expect(cards.opened.last?.card == Self.microphone, "\(cards.opened)")
        #expect(cards.opened.last?.name == "plughw:CARD=Mic,DEV=0", "\(cards.opened)")
    }

    @Test func aCardThatHangsIsNotGone() async throws {
        let cards = ScriptedCards()
        let (capture, recorder) = try recording("hw:1", of: cards)
        let changes = capture.stateChanges()
        let before = recorder.count
        cards.hang(1)
        #expect(recorder.waitForChunks(before + 5))
        capture.releaseCapture()
        var seen: [CaptureState] = []
        for await change in changes {
            seen.append(change.new)
            if change.new == .idle { break }
        }
        #expect(seen == [.interrupted(.stalled), .running, .stopping, .stopped(.user), .idle])
        #expect(cards.opened.count == 2)
    }

    @Test func aCardThatWasPulledWhileItWasStoppedIsOpenedAgain() throws {
        let cards = ScriptedCards()
        let (capture, recorder) = try recording("hw:1", of: cards)
        try capture.stopCapture()
        cards.pull(1)
        cards.plug(Self.other, at: 1)
        let error = #expect(throws: CaptureError.self) { try capture.startCapture() }
        #expect(error?.code == .deviceNotFound)
        cards.plug(Self.microphone, at: 2)
        let before = recorder.count
        try capture.startCapture()
        #expect(recorder.waitForChunks(before + 3))
        capture.releaseCapture()
        #expect(cards.opened.map(\.card) == [Self.microphone, Self.microphone], "\(cards.opened)")
    }

    /// Calls of its library wait for it, however long that lasts.
    @Test func aServerThatHangsDelaysNoStop() throws {
        let cards = ScriptedCards()
        defer { cards.server.goOn() }
        let (capture, recorder) = try recording("hw:1", of: cards)
        cards.server.hang()
        #expect(eventually { capture.state == .interrupted(.stalled) }, "\(capture.state)")
        let clock = MonotonicClock()
        var began = clock.now
        try capture.stopCapture()
        capture.releaseCapture()
        #expect(clock.now - began < .seconds(5))

        let waiting = cards.server.waiting
        let opening = try CaptureThread(name: "opening") {
            #expect(throws: CaptureError.self) { try capture.initCapture() }
        }
        #expect(eventually { cards.server.waiting > waiting })
        began = clock.now
        capture.releaseCapture()
        #expect(clock.now - began < .seconds(5))
        opening.join()

        cards.server.goOn()
        let before = recorder.count
        try capture.initCapture()
        try capture.startCapture()
        #expect(recorder.waitForChunks(before + 3))
        capture.releaseCapture()
    }

    @Test func keepsTheContract() async {
        let cards = ScriptedCards()
        cards.plug(Self.microphone, at: 1)
        let report = await AudioConformanceSuite(name: "microphone") {
            MicrophoneCapturer("hw:1", chunkDuration: .milliseconds(5), system: cards.system)
        }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    @Test func namesGetTheIdentifier() {
        for (name, resolved) in [
            ("hw:1,0", "hw:Mic,0"), ("hw:1", "hw:Mic"), ("plughw:1,0,2", "plughw:Mic,0,2"),
            ("plughw:CARD=1,DEV=0", "plughw:CARD=Mic,DEV=0"), ("hw:DEV=0,CARD=1", "hw:DEV=0,CARD=Mic"),
            ("dsnoop:1", "dsnoop:Mic"), ("hw:Other,1", "hw:Other,1"), ("hw:DEV=1", "hw:DEV=1"), ("default", "default"),
            ("pulse:1", "pulse:1"), ("hw:", "hw:"), ("plug:'hw:1'", "plug:'hw:1'"),
        ] {
            #expect(SoundCards.name(name, of: Self.microphone) == resolved)
        }
    }

    /// The files of the kernel, as `/proc/asound` has them.
    @Test func cardsAreReadFromTheKernel() throws {
        let folder = TemporaryFolder()
        for (name, files) in [
            ("card0", ["id": "PCH\n"]), ("card1", ["id": "Mic\n", "usbid": "0d8c:0014\n"]),
            ("Mic", ["id": "Mic\n", "usbid": "0d8c:0014\n"]), ("PCH", ["id": "PCH\n"]),
        ] {
            try run("mkdir", [folder.file(name)])
            for (file, text) in files { try folder.write(Array(text.utf8), to: "\(name)/\(file)") }
        }
        let cards = SoundCards(folder: folder.path)
        #expect(cards.card(0) == SoundCard(id: "PCH", usbID: nil))
        #expect(cards.card(1) == Self.microphone)
        #expect(cards.card(2) == nil)
        #expect(cards.isPresent(Self.microphone))
        #expect(cards.isPresent(SoundCard(id: "PCH", usbID: nil)))
        #expect(!cards.isPresent(Self.namesake))
        #expect(!cards.isPresent(Self.other))
    }
}
