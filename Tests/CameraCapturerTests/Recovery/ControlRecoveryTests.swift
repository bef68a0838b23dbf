import CLibV4L2
import TestTools
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What becomes of a camera's controls when its node is closed and opened again.
@Suite struct ControlRecoveryTests {
    private let machine = StreamingMachine.withControls()

    /// A capture whose camera does not start any more, and which has closed the node until it tries again.
    private func failing() throws -> CaptureRun {
        let configuration = CameraCapturer.Configuration(
            desiredFrameRate: 200, controls: [.init(name: "brightness", value: "20")])
        let run = try CaptureRun.running(machine, configuration)
        #expect(machine[V4L2_CID_BRIGHTNESS] == 20)
        run.camera.set {
            $0.refusals = [
                .init(request: clibv4l2_STREAMON, times: .max, number: EIO),
                .init(request: clibv4l2_DQBUF, times: 1, number: EIO),
            ]
        }
        #expect(run.waitForEvent(.waiting(.seconds(1))))
        #expect(eventually { !run.camera.isOpen })
        return run
    }

    @Test func leavesWhatAnotherProgramHasSetMeanwhile() throws {
        let run = try failing()
        machine[V4L2_CID_BRIGHTNESS] = 77
        run.camera.set { $0.refusals = [] }
        #expect(run.probe.waitForMore(5))
        #expect(machine[V4L2_CID_BRIGHTNESS] == 77)
        // And keeps it from then on.
        run.machine.unplug()
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        #expect(machine[V4L2_CID_BRIGHTNESS] == 128)
        run.machine.plug(as: "video1")
        #expect(run.probe.waitForMore(5))
        #expect(machine[V4L2_CID_BRIGHTNESS] == 77)
    }

    /// By this program, a moment before the unplug: no driver has told of it.
    @Test(arguments: [false, true]) func givesBackWhatWasSetJustBefore(waitsInDequeue: Bool) throws {
        let machine = StreamingMachine.withControls(waitsInDequeue: waitsInDequeue)
        let run = try CaptureRun.running(machine)
        for value: Int64 in [99, 31] {
            #expect(try run.capture.setControl("brightness", to: "\(value)") == .integer(value))
            machine.unplug()
            #expect(run.waitForState(.interrupted(.deviceDisconnected)))
            #expect(machine[V4L2_CID_BRIGHTNESS] == 128)
            machine.plug()
            #expect(run.probe.waitForMore(5))
            #expect(machine[V4L2_CID_BRIGHTNESS] == value)
        }
    }

    /// What was set in an earlier life is not taken for the user's wish in the next.
    @Test func beginsEachLifeWithWhatTheCameraHas() throws {
        let run = try CaptureRun.running(machine)
        try run.capture.setControl("brightness", to: "99")
        run.capture.releaseCapture()
        machine[V4L2_CID_BRIGHTNESS] = 55
        try run.start()
        #expect(run.probe.waitForMore(5))
        machine.unplug()
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        machine.plug()
        #expect(run.probe.waitForMore(5))
        #expect(machine[V4L2_CID_BRIGHTNESS] == 55)
    }

    /// Pulled out and plugged in again, which no call has answered.
    @Test func givesBackWhatWasLostWhileTheNodeWasClosed() throws {
        let run = try failing()
        run.camera.set { $0.refusals = [] }
        run.machine.unplug()
        run.machine.plug()
        #expect(run.probe.waitForMore(5))
        #expect(machine[V4L2_CID_BRIGHTNESS] == 20)
    }

    /// A camera that refuses at first after it is back, and has to be started once more.
    @Test func givesBackAtTheSecondStartWhatTheFirstCouldNot() throws {
        let run = try failing()
        run.machine.unplug()
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        run.camera.set {
            $0.refusals = [
                .init(request: clibv4l2_S_EXT_CTRLS, times: 1, number: EIO),
                .init(request: clibv4l2_STREAMON, times: 1, number: EIO),
            ]
        }
        run.machine.plug()
        #expect(run.probe.waitForMore(5))
        #expect(machine[V4L2_CID_BRIGHTNESS] == 20)
    }
}
