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

/// The whole capture on the ladder: a camera that is there, but does not deliver.
@Suite struct RetryCaptureTests {
    @Test func restartsACameraThatStalls() throws {
        let run = try CaptureRun.running()
        run.camera.set { $0.isSilent = true }
        #expect(run.waitForEvent(.restarting(attempt: 1, of: 4)))
        #expect(run.capture.state == .interrupted(.stalled))
        #expect(run.camera.calls(of: clibv4l2_STREAMOFF) == 1)
        run.camera.set { $0.isSilent = false }
        #expect(run.probe.waitForMore(5))
        #expect(run.capture.state == .running && run.statistics.restarts == 1)
        #expect(run.capture.statistics.interruptions == 1)
        #expect(run.probe.disorder == nil && run.leak == nil)
    }

    /// A hundred frames a second: half a second is the limit.
    @Test(arguments: [false, true])
    func isPatientFirst(waitsInDequeue: Bool) throws {
        // A busy machine makes some of the pauses too long, but not all.
        let isPatient = try (1...20).contains { _ in
            let run = try CaptureRun.running(StreamingMachine(waitsInDequeue: waitsInDequeue), frames: 10)
            run.camera.set { $0.isSilent = true }
            pause(.milliseconds(350))
            run.camera.set { $0.isSilent = false }
            #expect(run.probe.waitForMore(5))
            return run.statistics.restarts == 0 && run.capture.statistics.interruptions == 0
        }
        #expect(isPatient)
    }

    @Test func climbsTheWholeLadder() throws {
        let run = try CaptureRun.running()
        run.camera.set { $0.refusals = [.init(request: clibv4l2_STREAMON, times: .max, number: EIO)] }
        run.camera.set { $0.refusals.append(.init(request: clibv4l2_DQBUF, times: 1, number: EIO)) }
        #expect(run.waitForEvent(.waiting(.seconds(1))))
        let steps = run.events.filter { if case .negotiated = $0 { false } else { true } }
        #expect(steps == (1...4).map { .restarting(attempt: $0, of: 4) } + [.waiting(.seconds(1))])
        pause(.milliseconds(50))
        #expect(run.makesFewerCalls(than: 6, in: .milliseconds(300)))
        #expect(!run.camera.isOpen)
        run.camera.set { $0.refusals = [] }
        #expect(run.probe.waitForMore(5))
        #expect(run.capture.state == .running && run.statistics.restarts == 5)
        #expect(run.capture.statistics.interruptions == 1)
    }

    /// While it waits, other devices come and go: the wait is not cut short for ever.
    @Test func waitsOutItsTime() throws {
        let run = try CaptureRun.running()
        run.machine.disturb()
        run.camera.set {
            $0.refusals = [
                .init(request: clibv4l2_STREAMON, times: .max, number: EIO),
                .init(request: clibv4l2_DQBUF, times: 1, number: EIO),
            ]
        }
        #expect(run.waitForEvent(.waiting(.seconds(1))))
        pause(.milliseconds(50))
        #expect(run.makesFewerCalls(than: 20, in: .milliseconds(300)))
        #expect(!run.events.contains(.waiting(.seconds(2))))
    }

    /// Plugged in anew while it is left alone: it is tried at once.
    @Test func triesAtOnceWhenItIsPluggedInAnew() throws {
        let run = try CaptureRun.running()
        run.camera.set {
            $0.refusals = [
                .init(request: clibv4l2_STREAMON, times: .max, number: EIO),
                .init(request: clibv4l2_DQBUF, times: 1, number: EIO),
            ]
        }
        #expect(run.waitForEvent(.waiting(.seconds(1))))
        run.machine.unplug()
        run.camera.set { $0.refusals = [] }
        run.machine.plug()
        #expect(run.probe.waitForMore(5))
    }

    @Test func stopsAtOnceOnEachStep() throws {
        for event in [
            CameraCapturer.Event.restarting(attempt: 1, of: 4), .restarting(attempt: 4, of: 4), .waiting(.seconds(1)),
        ] {
            let run = try CaptureRun.running()
            run.camera.set {
                $0.refusals = [
                    .init(request: clibv4l2_STREAMON, times: .max, number: EIO),
                    .init(request: clibv4l2_DQBUF, times: 1, number: EIO),
                ]
            }
            #expect(run.waitForEvent(event))
            #expect(try run.stop() < .milliseconds(500))
            run.camera.set { $0.refusals = [] }
            try run.start()
            #expect(run.probe.waitForMore(5))
            #expect(run.leak == nil)
        }
    }

    @Test func endsAtAStallWhenToldTo() throws {
        let configuration = CameraCapturer.Configuration(desiredFrameRate: 200, reconnects: false)
        let run = try CaptureRun.running(StreamingMachine(), configuration)
        run.camera.set { $0.isSilent = true }
        #expect(
            eventually {
                if case .stopped(.error(let error)) = run.capture.state { return error.code == .stalled }
                return false
            }, "\(run.capture.state)")
        run.camera.set { $0.isSilent = false }
        try run.start()
        #expect(run.probe.waitForMore(5))
    }

    /// The driver's queue is in error: `poll` says so, and says it again and again.
    @Test func restartsAQueueInError() throws {
        let run = try CaptureRun.running()
        run.camera.set {
            $0.isSilent = true
            $0.extraEvents = Int16(POLLERR)
        }
        #expect(run.waitForEvent(.restarting(attempt: 1, of: 4)))
        run.camera.set {
            $0.isSilent = false
            $0.extraEvents = 0
        }
        #expect(run.probe.waitForMore(5))
        #expect(run.leak == nil)
    }

    /// `poll` says that a frame is there, and the driver says that none is.
    @Test func doesNotSpinOnAFalsePromise() throws {
        let run = try CaptureRun.running()
        run.camera.set { $0.refusals = [.init(request: clibv4l2_DQBUF, times: .max, number: EAGAIN)] }
        #expect(run.makesFewerCalls(than: 400, in: .milliseconds(300)))
        run.camera.set { $0.refusals = [] }
        #expect(run.probe.waitForMore(5))
    }

    @Test func doesNotSpinWhenPollIsRefused() throws {
        for number in [EINTR, EAGAIN, ENOMEM, EINVAL] {
            let run = try CaptureRun.running()
            run.camera.set { $0.refusals = [.init(request: FakeCamera.pollCall, times: .max, number: number)] }
            // Frames go on all the same: the camera is asked each few milliseconds.
            #expect(run.probe.waitForMore(10))
            run.machine.unplug()
            #expect(run.waitForState(.interrupted(.deviceDisconnected)))
            #expect(run.makesFewerCalls(than: number == EINTR ? 400 : 100, in: .milliseconds(300)))
            #expect(try run.stop() < .milliseconds(500))
        }
    }

    /// What the driver does not take back now, it is offered again; the frames go on in the other buffers.
    @Test func offersBuffersAgain() throws {
        let run = try CaptureRun.running()
        run.camera.set { $0.refusals = [.init(request: clibv4l2_QBUF, times: 3, number: EIO)] }
        #expect(run.probe.waitForMore(30))
        #expect(run.statistics.restarts == 0)
        // All buffers but those on their way are the driver's again.
        #expect(eventually { run.camera.get { $0.queued.count + $0.filled.count } >= 5 })
    }

    /// `EPIPE` and `V4L2_BUF_FLAG_LAST` end a stream that is begun anew without a word.
    @Test(arguments: [false, true])
    func beginsAnEndedStreamAnew(byFlag: Bool) throws {
        let run = try CaptureRun.running()
        if byFlag {
            run.camera.set { state in
                var isDone = false
                state.alter = { buffer in
                    if !isDone { buffer.flags |= UInt32(V4L2_BUF_FLAG_LAST) }
                    isDone = true
                }
            }
        } else {
            run.camera.set { $0.refusals = [.init(request: clibv4l2_DQBUF, times: 1, number: EPIPE)] }
        }
        #expect(run.probe.waitForMore(20))
        #expect(run.camera.calls(of: clibv4l2_STREAMON) == 2)
        #expect(run.capture.statistics.interruptions == 0)
        #expect(!run.events.contains(.restarting(attempt: 1, of: 4)))
        #expect(run.probe.disorder == nil && run.leak == nil)
    }

    /// One that ends without a frame, time after time, is a camera that does not respond.
    @Test func doesNotSpinOnAStreamThatEndsAtOnce() throws {
        let run = try CaptureRun.running()
        run.camera.set { $0.refusals = [.init(request: clibv4l2_DQBUF, times: .max, number: EPIPE)] }
        #expect(run.waitForEvent(.waiting(.seconds(1))))
        run.camera.set { $0.refusals = [] }
        #expect(run.probe.waitForMore(5))
    }

    /// A bus without room for the first mode takes a smaller one; a camera that has no other says so.
    @Test func takesASmallerModeOnAFullBus() throws {
        let machine = StreamingMachine([
            FakeCamera.Mode(fourCC: .nv12, width: 64, height: 48, rate: 100),
            FakeCamera.Mode(fourCC: .nv12, width: 32, height: 24, rate: 100),
        ])
        let run = CaptureRun(
            machine, CameraCapturer.Configuration(preset: PixelSize(width: 64, height: 48), desiredFrameRate: 100))
        run.camera.set { $0.refusals = [.init(request: clibv4l2_STREAMON, times: 1, number: ENOSPC)] }
        try run.start()
        #expect(run.probe.waitForMore(5))
        #expect(run.capture.decision?.delivered.size == PixelSize(width: 32, height: 24))
        #expect(run.capture.captureSettings().format.imageWidth == 32)
    }
}
