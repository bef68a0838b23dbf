import Testing
import VideoCapturing

@testable import CameraCapturer

@Suite struct DeliveryPlanTests {
    private func decision(
        _ fourCC: FourCC, _ size: String, _ rate: FrameRate?, for desired: String, at desiredRate: FrameRate = 30
    ) throws -> CameraMode.Decision {
        let request = CameraMode.Request(size: PixelSize(desired), rate: desiredRate)
        let mode = CameraMode(
            try #require(CaptureFormat.of(fourCC)), PixelSize(size), rate: rate, isRateVerified: true, index: 0,
            for: request)
        return CameraMode.Decision(requested: request, negotiated: mode, rejected: [])
    }

    @Test(
        arguments: [
            ("640x360", "352x288", PixelRect(x: 100, y: 0, width: 440, height: 360), "352x288"),
            ("640x480", "640x360", PixelRect(x: 0, y: 60, width: 640, height: 360), "640x360"),
            ("1280x960", "640x480", nil, "640x480"),
            ("354x288", "353x287", nil, "353x287"),
            ("320x180", "2x2", PixelRect(x: 70, y: 0, width: 180, height: 180), "2x2"),
            ("640x480", "640x480", nil, "640x480"),
            ("640x360", "1280x720", nil, "640x360"),
            ("640x480", "1280x360", PixelRect(x: 0, y: 60, width: 640, height: 360), "640x360"),
            ("16383x16383", "16383x1", PixelRect(x: 0, y: 8190, width: 16383, height: 2), "16383x1"),
            ("3x3", "1x3", nil, "1x3"),
        ] as [(String, String, PixelRect?, String)])
    func cutsInTheMiddle(given: String, desired: String, crop: PixelRect?, size: String) throws {
        let plan = try decision(.nv12, given, 30, for: desired).plan
        #expect(plan.crop == crop)
        #expect(plan.size == PixelSize(size))
        #expect(plan.isWhole == (given == size))
    }

    @Test func neverScalesUpNorCutsOutside() throws {
        var random = TestRandom(seed: 4)
        for _ in 0..<2000 {
            func side() -> Int {
                Bool.random(using: &random)
                    ? .random(in: 1...9, using: &random) : .random(in: 1...16383, using: &random)
            }
            let (given, desired) = ("\(side())x\(side())", "\(side())x\(side())")
            let plan = try decision(.nv12, given, 30, for: desired).plan
            let whole = PixelSize(given)
            let part = plan.crop ?? PixelRect(x: 0, y: 0, width: whole.width, height: whole.height)
            #expect(part.x >= 0 && part.y >= 0 && part.width > 0 && part.height > 0)
            #expect(part.x % 2 == 0 && part.y % 2 == 0)
            #expect(part.x + part.width <= whole.width && part.y + part.height <= whole.height)
            #expect(plan.size.width <= part.width && plan.size.height <= part.height, "\(given) for \(desired)")
        }
    }

    @Test func thinsOutWhatIsTooFast() throws {
        #expect(try decision(.nv12, "640x480", 60, for: "640x480").plan.decimatedRate == 30)
        #expect(try decision(.nv12, "640x480", nil, for: "640x480").plan.decimatedRate == 30)
        #expect(
            try decision(.nv12, "640x480", 30, for: "640x480", at: FrameRate(30000, per: 1001)!).plan.decimatedRate
                == nil)
        #expect(try decision(.nv12, "640x480", 25, for: "640x480").plan.decimatedRate == nil)
    }

    @Test func explainsItself() throws {
        #expect(
            try decision(.yuyv, "640x360", 60, for: "352x288").description == """
                requested   352x288 at 30 fps
                negotiated  YUYV 640x360 at 60 fps
                delivered   NV12 352x288 at 30 fps: converted from YUYV, cut to 440x360, scaled from 440x360, \
                thinned out from 60 fps
                """)
        let asIs = try decision(.nv12, "640x480", FrameRate(30000, per: 1001), for: "640x480").delivered
        #expect(asIs.isAsIs)
        #expect("\(asIs)" == "NV12 640x480 at 29.97 fps: as it comes")
        let small = try decision(.nv12, "640x480", 30, for: "1280x960").delivered
        #expect("\(small)".hasSuffix("smaller than asked for, since pictures are never scaled up"))
    }

    @Test func countsTheRejectedThatAreNotNamed() throws {
        var negotiation = ModeNegotiation(try RecordedCamera.vividWebcam.ranking("352x288", at: 30))
        let mode = try #require(negotiation.current())
        negotiation.report(
            .applied(
                AppliedMode(
                    fourCC: mode.fourCC, size: mode.size, interval: FrameInterval(numerator: 1, denominator: 30))))
        let decision = negotiation.decision
        let lines = decision.lines(rejectedLimit: 3)
        #expect(lines.count == 7)
        #expect(lines[1] == "negotiated  NV12 640x360 at 30 fps")
        #expect(lines[3] == "rejected    YU12 640x360 at 30 fps: takes more work to convert")
        #expect(lines[6] == "rejected    \(decision.rejected.count - 3) more")
        #expect(decision.lines(rejectedLimit: -1).count == 4)
        let reasons = decision.rejected.filter { $0.fourCC == .nv12 }.map { "\($0.mode!.size) \($0.reason)" }
        #expect(
            reasons == [
                "320x180 too small", "640x480 fewer frames per second", "1280x720 fewer frames per second",
                "1920x1080 fewer frames per second", "3840x2160 fewer frames per second",
            ])
    }
}
