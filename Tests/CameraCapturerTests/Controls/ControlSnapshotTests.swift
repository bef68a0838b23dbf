import CLibV4L2
import Testing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct ControlSnapshotTests {
    private let fixture: ControlFixture

    init() throws { fixture = try ControlFixture() }

    /// What a camera is after a replug: all as when it was made.
    private func replug() { fixture.driver[ControlFixture.path] = ControlFixture.webcam }

    @Test func restoresAutomaticsAndThenWhatTheyLeave() throws {
        try fixture.controls.set([
            ("auto_exposure", "1"), ("exposure_time_absolute", "77"), ("brightness", "3"),
        ])
        let snapshot = fixture.controls.snapshot()
        replug()
        #expect(fixture.controls.restore(snapshot).isEmpty)
        #expect(fixture[V4L2_CID_EXPOSURE_ABSOLUTE] == 77)
        #expect(fixture[V4L2_CID_BRIGHTNESS] == 3)
        // White balance stays automatic, and what is so already is not set.
        #expect(
            fixture.driver[ControlFixture.path]!.writes == [
                V4L2_CID_EXPOSURE_AUTO, V4L2_CID_BRIGHTNESS, V4L2_CID_EXPOSURE_ABSOLUTE,
            ])
    }

    @Test func notesChangesThatTheDriverTells() {
        var snapshot = fixture.controls.snapshot()
        #expect(snapshot.identifiers.contains(UInt32(V4L2_CID_EXPOSURE_ABSOLUTE)))
        snapshot.record(id: UInt32(V4L2_CID_EXPOSURE_AUTO), value: 1)
        snapshot.record(id: UInt32(V4L2_CID_EXPOSURE_ABSOLUTE), value: 500)
        snapshot.record(id: 1, value: 1)
        #expect(fixture.controls.restore(snapshot).isEmpty)
        #expect(fixture[V4L2_CID_EXPOSURE_ABSOLUTE] == 500)
    }

    @Test func reportsWhatCannotBeRestoredAndGoesOn() throws {
        try fixture.controls.set([("brightness", "9"), ("power_line_frequency", "1"), ("auto_exposure", "1")])
        let snapshot = fixture.controls.snapshot()
        replug()
        fixture.change { node in
            node[V4L2_CID_BRIGHTNESS].refusal = EIO
            node.controls.removeAll { $0.id == V4L2_CID_EXPOSURE_AUTO_PRIORITY }
        }
        let failures = fixture.controls.restore(snapshot)
        #expect(failures.map(\.name) == ["brightness", "exposure_dynamic_framerate"])
        #expect(fixture[V4L2_CID_POWER_LINE_FREQUENCY] == 1)
        #expect(fixture[V4L2_CID_EXPOSURE_AUTO] == 1)
    }

    @Test func leavesOutWhatIsNotAUsersToSet() {
        fixture.change { node in
            node[V4L2_CID_BRIGHTNESS].flags = Int32(V4L2_CTRL_FLAG_VOLATILE)
            node[V4L2_CID_POWER_LINE_FREQUENCY].flags = Int32(V4L2_CTRL_FLAG_READ_ONLY)
        }
        let names = fixture.controls.snapshot().entries.map(\.name)
        #expect(!names.contains("brightness"))
        #expect(!names.contains("power_line_frequency"))
    }

    @Test func keepsTheRateAndGivesBackWhatItWas() throws {
        #expect(fixture.controls.snapshot().mayLowerRate)
        let before = try #require(fixture.controls.keepFrameRate())
        #expect(fixture[V4L2_CID_EXPOSURE_AUTO_PRIORITY] == 0)
        #expect(!fixture.controls.snapshot().mayLowerRate)
        #expect(fixture.controls.keepFrameRate() == nil)
        fixture.controls.restoreFrameRate(before)
        #expect(fixture[V4L2_CID_EXPOSURE_AUTO_PRIORITY] == 1)
        try fixture.controls.set("auto_exposure", to: "1")
        #expect(!fixture.controls.snapshot().mayLowerRate)
    }
}
