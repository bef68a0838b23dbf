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

/// What becomes of the pictures of a camera that does nothing wrong.
@Suite struct DeliveryTests {
    @Test func lendsTheDriversMemory() throws {
        let run = try CaptureRun.running(frames: 30)
        #expect(run.camera.mappings == 6)
        #expect(try run.drainAndStop())
        let notes = run.probe.notes
        #expect(run.statistics.framesLent == notes.count)
        #expect(run.statistics.framesCopied == 0 && run.statistics.framesConverted == 0)
        // The driver's numbers, and its times to the microsecond.
        for (last, next) in zip(notes, notes.dropFirst()) {
            let frames = UInt32(next.sequenceNumber - last.sequenceNumber)
            #expect(next.number - last.number == frames)
            let error = (next.timestamp - last.timestamp).nanoseconds - Int64(frames) * 5_000_000
            #expect(abs(error) <= 1000)
        }
        #expect(notes.allSatisfy { ($0.delay ?? .seconds(-1)) >= .zero && $0.delay! < .seconds(10) })
        #expect(run.leak == nil)
    }

    /// As an encoder that was idle wants it when somebody comes.
    @Test func aHigherRateDoesNotWaitForTheNextFrameOfALowOne() throws {
        let run = try CaptureRun.running()
        run.capture.adapt(to: CaptureWants(maximumFrameRate: FrameRate(1, per: 3600)))
        #expect(eventually { run.statistics.framesDecimated > 5 })
        run.capture.adapt(to: CaptureWants())
        #expect(run.probe.waitForMore(10))
    }

    /// A consumer that keeps all frames does not starve the driver: the rest are copies, and no stall.
    @Test func copiesForAHoarder() throws {
        let run = CaptureRun(StreamingMachine([FakeCamera.Mode(fourCC: .nv12, width: 64, height: 48, rate: 100)]))
        run.probe.set { $0.keeps = 1000 }
        try run.start()
        #expect(run.probe.waitForMore(40))
        #expect(run.statistics.framesLent >= 3 && run.statistics.framesLent <= 4)
        #expect(run.statistics.framesCopied >= 36)
        #expect(run.statistics.restarts == 0 && run.capture.statistics.interruptions == 0)
        _ = try run.stop()
        let notes = run.probe.notes
        for (frame, note) in zip(run.probe.kept, notes) {
            let byte = UInt8(truncatingIfNeeded: note.number)
            #expect(frame.buffer.withRow(47, ofPlane: 0) { $0.allSatisfy { $0 == byte } })
            #expect(frame.buffer.withRow(23, ofPlane: 1) { $0.allSatisfy { $0 == byte } })
        }
        // Once they are let go, the driver's memory is lent again.
        run.probe.set {
            $0.kept = []
            $0.keeps = 0
        }
        let lent = run.statistics.framesLent
        try run.start()
        #expect(run.probe.waitForMore(20))
        #expect(run.statistics.framesLent >= lent + 20)
        #expect(run.leak == nil)
    }

    @Test(arguments: [FourCC.yuyv, .uyvy])
    func convertsPackedPictures(fourCC: FourCC) throws {
        let machine = StreamingMachine([FakeCamera.Mode(fourCC: fourCC, width: 16, height: 8, rate: 100)])
        let order: [UInt8] = fourCC == .yuyv ? [40, 90, 200, 160] : [90, 40, 160, 200]
        machine.camera.set { $0.content = (0..<64).flatMap { _ in order } }
        let run = CaptureRun(machine)
        run.probe.set { $0.keeps = 1 }
        try run.start()
        #expect(run.probe.waitForMore(5))
        _ = try run.stop()
        let frame = try #require(run.probe.kept.last)
        #expect(frame.pixelFormat == .nv12 && frame.width == 16 && frame.height == 8)
        #expect(frame.buffer.withRow(3, ofPlane: 0) { Array($0.prefix(4)) } == [40, 200, 40, 200])
        #expect(frame.buffer.withRow(3, ofPlane: 1) { Array($0.prefix(4)) } == [90, 160, 90, 160])
        #expect(run.statistics.framesConverted >= 5 && run.statistics.framesLent == 0)
        #expect(run.leak == nil)
    }

    /// A capture of a camera that gives JPEG.
    private func jpegRun() -> CaptureRun {
        let machine = StreamingMachine([FakeCamera.Mode(fourCC: .mjpeg, width: 19, height: 9, rate: 100)])
        machine.camera.set {
            $0.content = TestJPEG.yuv420.bytes
            $0.bufferLength = 4096
        }
        let run = CaptureRun(machine)
        run.probe.set { $0.keeps = 1 }
        return run
    }

    @Test func decodesJPEG() throws {
        let run = jpegRun()
        try run.start()
        #expect(run.probe.waitForMore(5))
        _ = try run.stop()
        let frame = try #require(run.probe.kept.last)
        #expect(frame.pixelFormat == .nv12 && frame.width == 19 && frame.height == 9 && frame.color == .jpeg)
        #expect(frame.buffer.withRow(4, ofPlane: 0) { $0.allSatisfy { $0.distance(to: 60).magnitude < 4 || $0 > 190 } })
        #expect(run.leak == nil)
    }

    /// For who takes JPEG nothing is decoded; who does not is given pixels again.
    @Test func givesTheJPEGItselfWhereThatIsEnough() throws {
        let run = jpegRun()
        run.capture.adapt(to: CaptureWants(acceptsCompressed: true))
        try run.start()
        #expect(run.probe.waitForMore(5))
        let frame = try #require(run.probe.kept.last)
        #expect(frame.pixelFormat == .mjpeg && frame.width == 19 && frame.height == 9 && frame.color == .jpeg)
        #expect(
            frame.buffer.withRow(0, ofPlane: 0) { Array($0.prefix(TestJPEG.yuv420.bytes.count)) }
                == TestJPEG.yuv420.bytes)
        #expect(run.statistics.framesCopied >= 5 && run.statistics.framesConverted == 0)
        run.capture.adapt(to: CaptureWants())
        #expect(eventually { run.statistics.framesConverted >= 3 })
        _ = try run.stop()
        #expect(run.leak == nil)
    }

    /// A recording needs pixels, and a still beside it the JPEG.
    @Test func keepsTheJPEGNextToThePixels() throws {
        let run = jpegRun()
        run.capture.adapt(to: CaptureWants(usesCompressed: true))
        try run.start()
        #expect(run.probe.waitForMore(5))
        let frame = try #require(run.probe.kept.last)
        #expect(frame.pixelFormat != .mjpeg && frame.width == 19 && frame.height == 9)
        let jpeg = try #require(frame.jpeg)
        let bytes = TestJPEG.yuv420.bytes
        #expect(jpeg.withRow(0, ofPlane: 0) { Array($0.prefix(bytes.count)) } == bytes)
        run.capture.adapt(to: CaptureWants())
        #expect(eventually { run.probe.kept.last?.compressed == nil })
        _ = try run.stop()
        #expect(run.leak == nil)
    }

    /// For who takes any format nothing is converted, and nothing copied while the driver has buffers to spare.
    @Test(arguments: [FourCC.yuyv, .uyvy, .yu12])
    func givesTheCamerasOwnFormatWhereThatIsEnough(fourCC: FourCC) throws {
        let machine = StreamingMachine([FakeCamera.Mode(fourCC: fourCC, width: 16, height: 8, rate: 100)])
        machine.camera.set { $0.content = (0..<256).map { UInt8($0) } }
        let run = CaptureRun(machine)
        run.probe.set { $0.keeps = 1 }
        run.capture.adapt(to: CaptureWants(acceptsNativeFormat: true))
        try run.start()
        #expect(run.probe.waitForMore(5))
        do {
            let frame = try #require(run.probe.kept.last)
            #expect(frame.pixelFormat == CaptureFormat.of(fourCC)?.pixelFormat)
            #expect(frame.width == 16 && frame.height == 8)
            #expect(frame.buffer.withRow(1, ofPlane: 0) { $0[3] } == (fourCC == .yu12 ? 19 : 35))
        }
        #expect(run.statistics.framesLent >= 4 && run.statistics.framesConverted == 0)
        run.capture.adapt(to: CaptureWants())
        #expect(eventually { run.statistics.framesConverted >= 3 })
        #expect(run.probe.kept.last?.pixelFormat == .nv12)
        // A smaller picture is converted in any case.
        run.capture.adapt(to: CaptureWants(maximumPixelCount: 32, acceptsNativeFormat: true))
        #expect(eventually { run.probe.kept.last?.width == 8 })
        #expect(run.probe.kept.last?.pixelFormat == .nv12)
        _ = try run.stop()
        #expect(run.leak == nil)
    }

    @Test func thinsOutToTheDesiredRate() throws {
        let machine = StreamingMachine([FakeCamera.Mode(fourCC: .nv12, width: 64, height: 48, rate: 100)])
        let run = CaptureRun(machine, CameraCapturer.Configuration(desiredFrameRate: 50))
        try run.start()
        #expect(run.probe.waitForMore(20))
        _ = try run.stop()
        let notes = run.probe.notes
        #expect(run.capture.decision?.plan.decimatedRate == 50)
        #expect(zip(notes, notes.dropFirst()).allSatisfy { $1.timestamp - $0.timestamp > .microseconds(19_900) })
        let delivered = UInt64(notes.count)
        #expect(run.statistics.framesDecimated >= delivered - 2 && run.statistics.framesDecimated <= delivered + 2)
        #expect(run.dropped.total == 0)
    }

    /// Consumers may want less while it runs.
    @Test func followsWants() throws {
        let run = CaptureRun()
        run.probe.set { $0.keeps = 1 }
        try run.start()
        #expect(run.probe.waitForMore(3))
        run.capture.adapt(to: CaptureWants(maximumPixelCount: 32 * 24))
        #expect(eventually { run.probe.kept.last?.width == 32 })
        run.capture.adapt(to: CaptureWants())
        #expect(eventually { run.probe.kept.last?.width == 64 })
        #expect(run.leak == nil)
    }

    /// Ten frames are due while the consumer has one: the old ones are left out, and counted.
    @Test func theNewestWinsWithASlowConsumer() throws {
        let run = CaptureRun()
        run.camera.set { $0.losesFrames = true }
        run.probe.set { $0.delay = .milliseconds(100) }
        try run.start()
        #expect(run.probe.waitForMore(8))
        _ = try run.stop()
        let notes = run.probe.notes
        #expect(run.statistics.framesSkipped > 0)
        #expect(run.probe.disorder == nil)
        // Every frame of the camera's is accounted for.
        let made = notes.last!.number - notes[0].number + 1
        #expect(notes.last!.sequenceNumber - notes[0].sequenceNumber + 1 == made)
    }
}
