import CLibV4L2
import CapturerTestKit
import TestTools
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Buffers that are no whole pictures are left out, and counted one by one.
@Suite struct DamageTests {
    /// Damages every third of the first 30 buffers: ten.
    private static func damage(_ machine: StreamingMachine, _ change: @escaping (inout v4l2_buffer) -> Void) {
        machine.camera.set { state in
            var count = 0
            state.alter = { buffer in
                count += 1
                if count <= 30, count % 3 == 0 { change(&buffer) }
            }
        }
    }

    private func expectTenLeftOut(_ run: CaptureRun) throws {
        try run.start()
        #expect(run.probe.waitForMore(30))
        _ = try run.stop()
        #expect(run.statistics.framesDamaged == 10)
        #expect(run.dropped.corrupt == 10)
        let notes = run.probe.notes
        // Each takes its number.
        let numbers = Int(notes.last!.sequenceNumber - notes[0].sequenceNumber) + 1
        #expect(numbers == notes.count + 10 + Int(run.dropped.source))
        #expect(run.capture.statistics.interruptions == 0 && run.statistics.restarts == 0)
        #expect(run.leak == nil)
    }

    @Test func leavesOutWhatTheDriverMarks() throws {
        let machine = StreamingMachine()
        DamageTests.damage(machine) { $0.flags |= UInt32(V4L2_BUF_FLAG_ERROR) }
        try expectTenLeftOut(CaptureRun(machine))
    }

    @Test(arguments: [0, 1, 64 * 48 * 3 / 2 - 1])
    func leavesOutWhatIsTooShort(byteCount: UInt32) throws {
        let machine = StreamingMachine()
        DamageTests.damage(machine) { $0.bytesused = byteCount }
        try expectTenLeftOut(CaptureRun(machine))
    }

    @Test(arguments: [0, 3, 100, TestJPEG.yuv420.bytes.count - 1])
    func leavesOutJPEGThatIsCut(byteCount: Int) throws {
        let machine = StreamingMachine([FakeCamera.Mode(fourCC: .mjpeg, width: 19, height: 9, rate: 100)])
        machine.camera.set {
            $0.content = TestJPEG.yuv420.bytes
            $0.bufferLength = 4096
        }
        DamageTests.damage(machine) { $0.bytesused = UInt32(byteCount) }
        try expectTenLeftOut(CaptureRun(machine))
    }

    /// Whatever is in the buffers: no crash, no frame, no interruption, and all of it counted.
    @Test func leavesOutGarbageInsteadOfJPEG() throws {
        let machine = StreamingMachine([FakeCamera.Mode(fourCC: .mjpeg, width: 19, height: 9, rate: 200)])
        var inner = [UInt8](repeating: 0x5A, count: 400)
        inner.replaceSubrange(0..<4, with: [0xFF, 0xD8, 0xFF, 0xC0])
        inner.replaceSubrange(398..<400, with: [0xFF, 0xD9])
        let run = CaptureRun(machine, CameraCapturer.Configuration(desiredFrameRate: 200))
        run.camera.set {
            $0.bufferLength = 4096
            $0.content = inner
        }
        try run.start()
        #expect(eventually { run.statistics.framesDamaged > 20 })
        #expect(run.probe.count == 0)
        #expect(run.capture.state == .running)
        // While nothing is delivered.
        #expect(run.dropped.corrupt > 0)
        // All of them, each counted once.
        var told: (count: UInt64, total: UInt64)?
        #expect(
            eventually {
                for case .damagedFrames(let count, let total, _) in run.events { told = (count, total) }
                return told != nil
            })
        #expect(told.map { $0.count == $0.total && $0.count > 50 } == true, "\(told as Any)")
        run.camera.set { $0.content = TestJPEG.yuv420.bytes }
        #expect(run.probe.waitForMore(5))
        #expect(run.dropped.corrupt == run.statistics.framesDamaged)
    }

    @Test(arguments: [
        ("usb-0000:00:14.0-1", "Poor USB link (usb-0000:00:14.0-1): 3 of 30 frames were damaged and left out; try"),
        ("platform:fe801000.csi", "3 of 30 frames were damaged and left out; check how the camera is connected (plat"),
        ("PCI:0000:03:00.0", "3 of 30 frames were damaged and left out; check how the camera is connected (PCI:0"),
        ("", "3 of 30 frames were damaged and left out; check how the camera is connected."),
    ])
    func blamesTheBusThatTheCameraIsOn(bus: String, words: String) {
        let text = "\(CameraCapturer.Event.damagedFrames(count: 3, of: 30, bus: bus))"
        #expect(text.hasPrefix(words) && text.hasSuffix("."), "\(text)")
    }

    /// A driver that claims more bytes than its buffer has.
    @Test(arguments: [FourCC.mjpeg, .nv12, .yuyv])
    func doesNotReadBeyondABuffer(fourCC: FourCC) throws {
        let size = fourCC == .mjpeg ? (width: 19, height: 9) : (width: 16, height: 8)
        let machine = StreamingMachine([
            FakeCamera.Mode(fourCC: fourCC, width: size.width, height: size.height, rate: 100)
        ])
        machine.camera.set { state in
            if fourCC == .mjpeg {
                // At the very end of the buffer, so that reading on would leave it.
                state.content = TestJPEG.yuv420.bytes
                state.bufferLength = TestJPEG.yuv420.bytes.count
            }
            state.alter = { $0.bytesused = 1 << 30 }
        }
        let run = CaptureRun(machine)
        try run.start()
        #expect(run.probe.waitForMore(5))
        #expect(run.statistics.framesDamaged == 0 && run.leak == nil)
    }

    /// A camera whose every frame is damaged counts as stalled, and goes on when it is well again: marked by the driver,
    /// found with `poll` or in `VIDIOC_DQBUF`, or no picture that can be decoded.
    @Test(arguments: [0, 1, 2]) func takesDamageAloneForAStall(way: Int) throws {
        let mode = FakeCamera.Mode(
            fourCC: way == 2 ? .mjpeg : .nv12, width: way == 2 ? 19 : 64, height: way == 2 ? 9 : 48, rate: 200)
        let machine = StreamingMachine([mode], waitsInDequeue: way == 1)
        if way == 2 {
            machine.camera.set {
                $0.content = TestJPEG.yuv420.bytes
                $0.bufferLength = 4096
            }
        }
        let run = try CaptureRun.running(machine, frames: 20)
        var garbage = [UInt8](repeating: 0x5A, count: 400)
        garbage.replaceSubrange(0..<4, with: [0xFF, 0xD8, 0xFF, 0xC0])
        garbage.replaceSubrange(398..<400, with: [0xFF, 0xD9])
        run.camera.set { state in
            if way == 2 {
                state.content = garbage
            } else {
                state.alter = { $0.flags |= UInt32(V4L2_BUF_FLAG_ERROR) }
            }
        }
        #expect(run.waitForState(.interrupted(.stalled)))
        #expect(run.dropped.corrupt > 50)
        run.camera.set { state in
            state.alter = nil
            if way == 2 { state.content = TestJPEG.yuv420.bytes }
        }
        #expect(run.probe.waitForMore(20))
        #expect(run.capture.state == .running)
        #expect(run.statistics.restarts >= 1)
        _ = try run.stop()
        #expect(run.dropped.corrupt == run.statistics.framesDamaged)
        #expect(run.leak == nil)
    }

    /// Buffers shorter than the pictures that are said to be in them give no frame, and no crash.
    @Test func refusesBuffersThatAreTooSmall() throws {
        let run = CaptureRun()
        run.camera.set { $0.bufferLength = 100 }
        try run.start()
        #expect(eventually { run.statistics.framesDamaged > 10 })
        #expect(run.probe.count == 0)
        _ = try run.stop()
        #expect(run.dropped.corrupt == run.statistics.framesDamaged)
        run.camera.set { $0.bufferLength = nil }
        try run.start()
        #expect(run.probe.waitForMore(5))
        #expect(run.leak == nil)
    }

    /// A driver that hands out buffers which it does not have is restarted.
    @Test(arguments: [77, UInt32.max])
    func refusesBuffersThatAreNone(index: UInt32) throws {
        let run = try CaptureRun.running()
        run.camera.set { state in
            var isDone = false
            state.alter = { buffer in
                if !isDone { buffer.index = index }
                isDone = true
            }
        }
        #expect(run.probe.waitForMore(20))
        #expect(run.statistics.restarts == 1)
        #expect(run.leak == nil)
    }
}
