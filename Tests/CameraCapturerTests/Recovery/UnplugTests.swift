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

@Suite struct UnplugTests {
    @Test(arguments: ["video0", "video3"])
    func goesOnWhenTheCameraIsBack(name: String) throws {
        let run = try CaptureRun.running()
        run.machine.unplug()
        #expect(eventually { !run.camera.isOpen }, "the node is held")
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        pause(.milliseconds(50))
        run.machine.plug(as: name)
        #expect(run.probe.waitForMore(5))
        #expect(run.capture.state == .running)
        #expect(run.probe.disorder == nil)
        #expect(run.waitForEvent(.reconnected(path: run.machine.path)))
        #expect(run.capture.statistics.interruptions == 1 && run.statistics.reconnects == 1)
        #expect(run.capture.device?.path == run.machine.path)
        #expect(run.events.filter { $0 == .disconnected }.count == 1)
        #expect(run.leak == nil)
    }

    @Test func goesOnManyTimes() throws {
        let run = try CaptureRun.running()
        for round in 1...5 {
            run.machine.unplug()
            #expect(run.waitForState(.interrupted(.deviceDisconnected)))
            run.machine.plug(as: "video\(round % 3)")
            #expect(run.probe.waitForMore(5))
        }
        #expect(run.capture.statistics.interruptions == 5 && run.statistics.reconnects == 5)
        #expect(run.probe.disorder == nil && run.leak == nil)
    }

    /// The usual way of a real one: the node comes first, the group's permission a moment later.
    @Test func waitsForPermission() throws {
        let run = try CaptureRun.running()
        run.machine.unplug()
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        run.camera.set { $0.openError = EACCES }
        run.machine.plug()
        #expect(run.waitForEvent(.noPermission))
        pause(.milliseconds(50))
        #expect(run.makesFewerCalls(than: 6, in: .milliseconds(300)))
        run.machine.permit()
        #expect(run.probe.waitForMore(5))
        #expect(run.capture.state == .running && run.statistics.reconnects == 1)
        #expect(run.waitForEvent(.reconnected(path: run.machine.path)))
        #expect(run.events.filter { $0 == .noPermission }.count == 1)
    }

    @Test func waitsForAnotherProgramToEnd() throws {
        let run = try CaptureRun.running()
        run.machine.unplug()
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        run.camera.set { $0.openError = EBUSY }
        run.machine.plug()
        #expect(run.waitForState(.interrupted(.deviceBusy)))
        run.machine.disturb()
        #expect(run.makesFewerCalls(than: 20, in: .milliseconds(500)))
        run.camera.set { $0.openError = 0 }
        #expect(run.probe.waitForMore(5))
        #expect(run.statistics.reconnects == 1)
    }

    @Test func doesNothingWhileItWaits() throws {
        let run = try CaptureRun.running()
        run.machine.unplug()
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        pause(.milliseconds(50))
        #expect(run.makesFewerCalls(than: 6, in: .milliseconds(300)))
        // Other devices come and go.
        for _ in 0..<5 { run.machine.disturb() }
        #expect(run.makesFewerCalls(than: 20, in: .milliseconds(300)))
        #expect(run.capture.state == .interrupted(.deviceDisconnected))
    }

    @Test func stopsAtOnceAndStartsAgain() throws {
        let run = try CaptureRun.running()
        run.machine.unplug()
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        #expect(try run.stop() < .milliseconds(500))
        // Nothing is there to start.
        let error = #expect(throws: CaptureError.self) { try run.start() }
        #expect(error?.code == .deviceLost, "\(error as Any)")
        run.machine.plug(as: "video1")
        try run.start()
        #expect(run.probe.waitForMore(5))
        #expect(run.probe.disorder == nil && run.leak == nil)
    }

    @Test(arguments: [EACCES, EBUSY, EIO])
    func stopsAtOnceWhileTheCameraCannotBeOpened(number: Int32) throws {
        let run = try CaptureRun.running()
        run.machine.unplug()
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        run.camera.set { $0.openError = number }
        run.machine.plug()
        #expect(eventually { run.capture.state != .interrupted(.deviceDisconnected) })
        pause(.milliseconds(20))
        #expect(try run.stop() < .milliseconds(500))
        run.machine.permit()
        try run.start()
        #expect(run.probe.waitForMore(5))
        #expect(run.leak == nil)
    }

    @Test func endsWithTheCameraWhenToldTo() throws {
        let configuration = CameraCapturer.Configuration(desiredFrameRate: 200, reconnects: false)
        let run = try CaptureRun.running(StreamingMachine(), configuration)
        run.machine.unplug()
        #expect(
            eventually {
                if case .stopped(.deviceLost(let error)) = run.capture.state { return error.code == .deviceLost }
                return false
            }, "\(run.capture.state)")
        run.machine.plug()
        try run.start()
        #expect(run.probe.waitForMore(5))
        #expect(run.leak == nil)
    }

    /// Pictures that somebody has stay what they are, whatever becomes of the camera.
    @Test func keepsThePicturesThatAreHeld() throws {
        let run = CaptureRun()
        run.probe.set { $0.keeps = 3 }
        try run.start()
        #expect(run.probe.waitForMore(10))
        run.machine.unplug()
        #expect(eventually { !run.camera.isOpen })
        let numbers = run.probe.notes.suffix(3).map(\.number)
        func areIntact() -> Bool {
            zip(run.probe.kept, numbers).allSatisfy { frame, number in
                frame.buffer.withRow(47, ofPlane: 0) { $0.allSatisfy { $0 == UInt8(truncatingIfNeeded: number) } }
            }
        }
        #expect(areIntact())
        run.machine.plug()
        run.probe.set { $0.keeps = 0 }
        #expect(run.probe.waitForMore(10))
        #expect(areIntact())
        _ = try run.stop()
        run.capture.releaseCapture()
        #expect(areIntact())
        #expect(run.camera.mappings == 3)
        run.probe.set { $0.kept = [] }
        #expect(run.camera.mappings == 0)
    }
}
