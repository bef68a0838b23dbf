import Testing
import VideoCapturing

@testable import CameraCapturer

@Suite struct ModeNegotiationTests {
    private func negotiation(
        _ camera: RecordedCamera, _ size: String, at rate: FrameRate = 30
    ) throws -> ModeNegotiation {
        ModeNegotiation(try camera.ranking(size, at: rate), subject: "Test camera")
    }

    private func applied(_ mode: CameraMode?, _ numerator: UInt32 = 0, _ denominator: UInt32 = 0) throws -> ApplyOutcome
    {
        let mode = try #require(mode)
        return .applied(
            AppliedMode(
                fourCC: mode.fourCC, size: mode.size,
                interval: FrameInterval(numerator: numerator, denominator: denominator)))
    }

    @Test func settlesWhatTheDriverConfirms() throws {
        var negotiation = try negotiation(.uvcWebcam, "640x480")
        let isSettled = negotiation.report(try applied(negotiation.current(), 1, 30))
        #expect(isSettled)
        #expect(negotiation.current()?.short == "YUYV 640x480 30")
        #expect(negotiation.decision.negotiated.short == "YUYV 640x480 30")
        #expect(negotiation.decision.delivered.convertedFrom == .yuyv)
        let reasons = negotiation.decision.rejected
        #expect(reasons.first?.description == "MJPG 640x480 at 30 fps: takes more work to convert")
        #expect(reasons.last == CameraMode.Decision.RejectedMode(.h264, .formatUnusable))
    }

    @Test(
        arguments: [(1, 27, true), (1, 26, false), (1001, 30000, true), (0, 0, true), (1, 60, true)]
            as [(UInt32, UInt32, Bool)])
    func wantsNineTenthsOfTheClaim(numerator: UInt32, denominator: UInt32, isSettled: Bool) throws {
        var negotiation = try negotiation(.uvcWebcam, "640x480")
        let first = negotiation.current()
        let answer = try negotiation.report(applied(first, numerator, denominator))
        #expect(answer == isSettled)
        // MJPG has not failed yet, and is better than YUYV at 26.
        #expect(negotiation.current()?.fourCC == (isSettled ? .yuyv : .mjpeg))
    }

    @Test func takesTheNextWhenTheRateIsNotKept() throws {
        var negotiation = try negotiation(.uvcWebcam, "640x480")
        let first = try #require(negotiation.current())
        let isFirstSettled = try negotiation.report(applied(first, 1, 15))
        #expect(!isFirstSettled)
        let isSecondSettled = try negotiation.report(applied(negotiation.current(), 1, 30))
        #expect(isSecondSettled)
        #expect(negotiation.decision.negotiated.short == "MJPG 640x480 30")
        #expect(
            negotiation.decision.rejected.first
                == CameraMode.Decision.RejectedMode(first, .rateNotKept(claimed: 30, readBack: 15)))
    }

    /// A camera that halves every rate, as many do in low light, is used all the same.
    @Test func livesWithADriverThatNeverKeepsARate() throws {
        var negotiation = try negotiation(.uvcWebcam, "640x480")
        var attempts = 0
        while let mode = negotiation.current() {
            attempts += 1
            let rate = try #require(mode.rate)
            let slow = min(rate, 15)
            if negotiation.report(try applied(mode, UInt32(slow.seconds), UInt32(slow.frames))) { break }
        }
        #expect(attempts <= 1 + ModeNegotiation.attemptLimit)
        #expect(negotiation.current()?.short == "YUYV 640x480 15")
        #expect(negotiation.decision.delivered.rate == 15)
    }

    @Test func adoptsASubstituteThatIsACandidate() throws {
        var negotiation = try negotiation(.uvcWebcam, "1280x720")
        let substitute = AppliedMode(
            fourCC: .mjpeg, size: PixelSize("800x600"), interval: FrameInterval(numerator: 1, denominator: 30))
        let isSettled = negotiation.report(.applied(substitute))
        #expect(isSettled)
        let decision = negotiation.decision
        #expect(decision.negotiated.short == "MJPG 800x600 30")
        #expect(decision.rejected.first?.reason == .substituted(by: .mjpeg, size: PixelSize("800x600")))
        #expect(decision.delivered.size == PixelSize("800x600"))
        #expect(decision.delivered.isSmallerThanRequested)
    }

    @Test func refusesASubstituteThatCannotBeTaken() throws {
        var negotiation = try negotiation(.uvcWebcam, "1280x720")
        let isFirstSettled = negotiation.report(
            .applied(AppliedMode(fourCC: .h264, size: PixelSize("1280x720"), interval: nil)))
        #expect(!isFirstSettled)
        let isSecondSettled = negotiation.report(
            .applied(AppliedMode(fourCC: .mjpeg, size: PixelSize("0x0"), interval: nil)))
        #expect(!isSecondSettled)
        #expect(negotiation.current() != nil)
    }

    /// A driver that sets one unlisted size whatever it is asked for.
    @Test func adoptsAnUnlistedSizeWhereNothingElseCanBeHad() throws {
        var negotiation = try negotiation(.single(.yuyv), "640x480")
        let odd = AppliedMode(
            fourCC: .yuyv, size: PixelSize("656x496"), interval: FrameInterval(numerator: 1, denominator: 25))
        let isFirstSettled = negotiation.report(.applied(odd))
        #expect(!isFirstSettled)
        #expect(negotiation.current()?.short == "YUYV 656x496 25")
        let isSecondSettled = negotiation.report(.applied(odd))
        #expect(isSecondSettled)
        #expect(negotiation.decision.delivered.size == PixelSize("640x480"))
    }

    @Test func looksForFewerBytesWhereTheBusIsFull() throws {
        var negotiation = try negotiation(.uvcWebcam, "640x480")
        let first = try #require(negotiation.current())
        negotiation.report(try applied(first, 1, 30))
        negotiation.report(.noBandwidth)
        let second = try #require(negotiation.current())
        #expect(second.short == "MJPG 640x480 30")
        #expect(second.bytesPerSecond < first.bytesPerSecond)
        var last = second
        while let mode = negotiation.current() {
            #expect(mode.bytesPerSecond <= last.bytesPerSecond)
            last = mode
            negotiation.report(.noBandwidth)
        }
        #expect(negotiation.decision.rejected.first?.reason == .noBandwidth)
        #expect(negotiation.decision.rejected.contains { $0.reason == .noLessBandwidth })
        #expect(negotiation.failure.message.contains("another USB port"))
    }

    /// The only size in the only format still has lower rates.
    @Test func slowsDownWhereTheBusIsFullAndNothingElseIsLeft() throws {
        var camera = RecordedCamera()
        camera.add(.yuyv, .all(["640x480"], .rates(30, 15, 10)))
        var negotiation = try negotiation(camera, "640x480")
        negotiation.report(.noBandwidth)
        #expect(negotiation.current()?.short == "YUYV 640x480 15")
        let isSettled = try negotiation.report(applied(negotiation.current(), 1, 15))
        #expect(isSettled)
    }

    @Test func namesTheNearestModeWhenNoneIsLeft() throws {
        var negotiation = try negotiation(.single(.yuyv), "352x288")
        let isFirstSettled = negotiation.report(.refused(errno: 22))
        #expect(!isFirstSettled)
        #expect(negotiation.current() == nil)
        let isSecondSettled = negotiation.report(.refused(errno: 22))
        #expect(!isSecondSettled)
        let error = negotiation.failure
        #expect(error.code == .formatUnsupported)
        #expect(error.systemError == 22)
        #expect(error.subject == "Test camera")
        #expect(error.message.contains("352x288 at 30 fps"))
        #expect(error.message.contains("YUYV 640x480 at 30 fps"))
    }

    @Test func triesNoMoreThanSix() throws {
        var negotiation = try negotiation(.uvcWebcam, "640x480")
        var tried = 0
        while negotiation.current() != nil {
            tried += 1
            negotiation.report(.refused(errno: 5))
        }
        #expect(tried == 6)
    }

    /// Whatever a driver answers, it is asked a bounded number of times.
    @Test func ends() throws {
        var random = TestRandom(seed: 7)
        for _ in 0..<300 {
            var negotiation = try negotiation(.uvcWebcam, "640x480", at: 30)
            var steps = 0
            while let mode = negotiation.current(), steps < 100 {
                steps += 1
                let size =
                    Bool.random(using: &random)
                    ? mode.size : PixelSize(width: .random(in: -1...700, using: &random), height: 480)
                let interval = FrameInterval(
                    numerator: random.extreme(), denominator: random.extreme())
                let outcome: ApplyOutcome =
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: .noBandwidth
                    case 1: .refused(errno: 22)
                    default: .applied(AppliedMode(fourCC: mode.fourCC, size: size, interval: interval))
                    }
                if negotiation.report(outcome) { break }
            }
            #expect(steps < 40)
            #expect(!negotiation.decision.description.isEmpty)
            #expect(!negotiation.failure.message.isEmpty)
        }
    }
}
