import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

/// Controls that are set for some frames, and put back.
@Suite struct ControlAdjusterTests {
    private let fixture: ControlFixture
    private let reported = Locked<[UInt32: CameraControl.Value]>([:])

    init() throws { fixture = try ControlFixture() }

    private func adjust(_ adjuster: inout ControlAdjuster, _ settings: CaptureAdjustment.Setting...) throws {
        try adjuster.adjust(CaptureAdjustment(settings), fixture.controls) { id, value in
            reported.withLock { $0[id] = value }
        }
    }

    private func restore(_ adjuster: inout ControlAdjuster) throws {
        try adjuster.restore(fixture.controls) { id, value in reported.withLock { $0[id] = value } }
    }

    @Test func exposuresAreOfThePresentOne() throws {
        var adjuster = ControlAdjuster()
        for (stops, expected) in [(-2.0, 63), (0, 250), (1, 500), (-1, 125)] as [(Double, Int64)] {
            try adjust(&adjuster, .exposure(stops: stops))
            #expect(fixture[V4L2_CID_EXPOSURE_ABSOLUTE] == expected, "\(stops)")
            #expect(fixture[V4L2_CID_EXPOSURE_AUTO] == 1, "by hand")
        }
        try restore(&adjuster)
        #expect(fixture[V4L2_CID_EXPOSURE_AUTO] == 3, "automatic again")
        #expect(adjuster.isEmpty)
        #expect(reported.withLock { $0[UInt32(V4L2_CID_EXPOSURE_AUTO)] } == .menu(3))
    }

    @Test func whatWasSetByHandIsPutBack() throws {
        try fixture.controls.set("auto_exposure", to: "1")
        try fixture.controls.set("exposure_time_absolute", to: "100")
        var adjuster = ControlAdjuster()
        try adjust(&adjuster, .exposure(stops: 1), .control(name: "brightness", value: "7"))
        #expect(fixture[V4L2_CID_EXPOSURE_ABSOLUTE] == 200 && fixture[V4L2_CID_BRIGHTNESS] == 7)
        try adjust(&adjuster, .exposure(stops: -1), .control(name: "Brightness", value: "9"))
        #expect(fixture[V4L2_CID_EXPOSURE_ABSOLUTE] == 50 && fixture[V4L2_CID_BRIGHTNESS] == 9)
        try restore(&adjuster)
        #expect(fixture[V4L2_CID_EXPOSURE_ABSOLUTE] == 100 && fixture[V4L2_CID_BRIGHTNESS] == 128)
        #expect(fixture[V4L2_CID_EXPOSURE_AUTO] == 1)
    }

    @Test func whatIsImpossibleIsRefusedAndTheRestPutBack() throws {
        var adjuster = ControlAdjuster()
        func message(_ setting: CaptureAdjustment.Setting) -> String {
            #expect(throws: CaptureError.self) { try adjust(&adjuster, setting) }?.message ?? ""
        }
        try adjust(&adjuster, .control(name: "brightness", value: "1"))
        #expect(message(.exposure(stops: 5)).contains("-6.4 to 3.0"))
        #expect(message(.exposure(stops: .nan)).contains("no stops"))
        #expect(message(.control(name: "focus", value: "3")).contains("no such control"))
        #expect(message(.control(name: "brightness", value: "256")).contains("0 to 255"))
        fixture.change { $0[V4L2_CID_EXPOSURE_ABSOLUTE].refusal = 5 }
        #expect(message(.exposure(stops: -1)).contains("refused"))
        try restore(&adjuster)
        #expect(fixture[V4L2_CID_BRIGHTNESS] == 128 && fixture[V4L2_CID_EXPOSURE_AUTO] == 3)
    }

    @Test func aCameraWithoutExposureSaysSo() throws {
        fixture.change { $0.controls.removeAll { $0.id == V4L2_CID_EXPOSURE_ABSOLUTE } }
        var adjuster = ControlAdjuster()
        let error = #expect(throws: CaptureError.self) { try adjust(&adjuster, .exposure(stops: 0)) }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("no control of its exposure") == true)
    }

    /// Without the camera nothing can be set, and what is to be is known when it is back.
    @Test func whatIsToBePutBackIsReportedWithoutACamera() throws {
        var adjuster = ControlAdjuster()
        try adjust(&adjuster, .control(name: "brightness", value: "1"))
        try adjuster.restore(nil) { id, value in reported.withLock { $0[id] = value } }
        #expect(reported.withLock { $0[UInt32(V4L2_CID_BRIGHTNESS)] } == .integer(128))
        #expect(fixture[V4L2_CID_BRIGHTNESS] == 1 && adjuster.isEmpty)
    }
}
