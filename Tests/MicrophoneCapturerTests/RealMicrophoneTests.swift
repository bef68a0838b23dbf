import AudioCapturing
import CapturerTestKit
import Glibc
import MicrophoneCapturer
import TestTools
import Testing

/// The contract on cards of the kernel, which CAPTURER_MICROPHONES names. `Tests/CameraGuest` runs it.
@Suite(.enabled(if: !RealMicrophones.names.isEmpty, "CAPTURER_MICROPHONES names no card."), .serialized)
struct RealMicrophoneTests {
    @Test(arguments: RealMicrophones.names) func keepsTheContract(name: String) async {
        let report = await AudioConformanceSuite(name: name) { MicrophoneCapturer(name) }.runDetached()
        print(report)
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.checks.count { $0.outcome == .passed } > report.checks.count / 2)
    }
}

/// A card of the driver whose folder CAPTURER_SOUND_DRIVER names: snd-aloop's.
@Suite(.enabled(if: RealMicrophones.driver != nil, "CAPTURER_SOUND_DRIVER names no driver."))
struct UnpluggedCardTests {
    @Test func aCardThatIsNamedByItsNumberIsMissed() throws {
        let driver = try #require(RealMicrophones.driver)
        let card = try #require(MicrophoneCapturer.microphones().first { $0.cardID == "Loopback" })
        let capture = MicrophoneCapturer("hw:\(card.cardNumber),1")
        let recorder = RecordingAudioConsumer(limit: 0)
        capture.audioCaptureConsumer = recorder
        try capture.initCapture()
        try capture.startCapture()
        #expect(recorder.waitForChunks(3))
        try writeBytes(Array("snd_aloop.0".utf8), to: "\(driver)/unbind")
        #expect(eventually { capture.state == .interrupted(.deviceDisconnected) }, "\(capture.state)")
        let before = recorder.count
        try writeBytes(Array("snd_aloop.0".utf8), to: "\(driver)/bind")
        #expect(recorder.waitForChunks(before + 3))
        #expect(capture.state == .running)
        capture.releaseCapture()
    }
}

private enum RealMicrophones {
    static let names: [String] =
        getenv("CAPTURER_MICROPHONES").map { String(cString: $0).split(separator: " ").map(String.init) } ?? []
    static let driver = getenv("CAPTURER_SOUND_DRIVER").map { String(cString: $0) }
}
