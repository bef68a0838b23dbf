import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Every system call that the capture makes, refused with every number that matters: before the first frame, while the
/// stream runs, while it is restarted, and while a camera that came back is opened; with a driver in whose
/// `VIDIOC_DQBUF` frames are waited for, too.
@Suite struct CallSiteTests {
    /// How many captures run at a time. Most of them wait; with more a sanitizer makes them wait for each other.
    private let width = 8

    @Test(arguments: [1, .max])
    func atTheStartThereAreFramesOrASentence(times: Int) async {
        let troubles = await concurrently(Fault.all(CallSite.allCases, times: times), width: width) { fault in
            CallSiteTests.tryStart(fault).map { "\(fault): \($0)" }
        }
        #expect(troubles.compactMap(\.self) == [])
    }

    @Test(arguments: [1, 3], [false, true])
    func aStreamGoesOn(times: Int, waitsInDequeue: Bool) async {
        let sites = CallSite.ofStreaming.filter { !waitsInDequeue || $0 != .poll }
        let troubles = await concurrently(Fault.all(sites, times: times), width: width) { fault in
            CallSiteTests.tryRunning(waitsInDequeue) { $0.camera.set { $0.refusals = [fault.refusal] } }.map {
                "\(fault): \($0)"
            }
        }
        #expect(troubles.compactMap(\.self) == [])
    }

    @Test(arguments: [false, true])
    func aRestartGetsOverIt(waitsInDequeue: Bool) async {
        let troubles = await concurrently(Fault.all(CallSite.ofRestart), width: width) { fault in
            CallSiteTests.tryRunning(waitsInDequeue) { run in
                run.camera.set {
                    $0.refusals = [fault.refusal, .init(request: clibv4l2_DQBUF, times: 1, number: EIO)]
                }
            }.map { "\(fault): \($0)" }
        }
        #expect(troubles.compactMap(\.self) == [])
    }

    @Test func aReturnGetsOverIt() async {
        let troubles = await concurrently(Fault.all(CallSite.ofOpening), width: width) { fault in
            CallSiteTests.tryRunning { run in
                run.machine.unplug()
                _ = run.waitForEvent(.disconnected)
                run.camera.set { $0.refusals = [fault.refusal] }
                run.machine.plug(as: "video1")
            }.map { "\(fault): \($0)" }
        }
        #expect(troubles.compactMap(\.self) == [])
    }

    /// What is wrong with a start that meets the fault, and with the next one after it has gone; nil when nothing is.
    private static func tryStart(_ fault: Fault) -> String? {
        let run = CaptureRun()
        run.camera.set { $0.refusals = [fault.refusal] }
        let watch = Stopwatch()
        var refusal: CaptureError?
        do throws(CaptureError) { try run.start() } catch { refusal = error }
        let time = watch.time
        if time > .seconds(3) { return "the start took \(time)" }
        if let refusal {
            guard refusal.message.count > 20, refusal.message.hasSuffix(".") else { return "no sentence: \(refusal)" }
            if run.camera.mappings > 0 { return "\(run.camera.mappings) mappings are left after the failure" }
        } else if fault.times < 10 {
            guard run.probe.waitForMore(3) else {
                return "no frames at \(run.capture.state)"
            }
        } else {
            pause(.milliseconds(100))
            // Interrupted requests are made a hundred times.
            let isResting = run.makesFewerCalls(than: fault.number == EINTR ? 800 : 150, in: .milliseconds(200))
            if !isResting, !run.probe.waitForMore(1, within: .milliseconds(20)) { return "it spins" }
        }
        if run.capture.isCaptureStarted {
            do {
                let time = try run.stop()
                if time > .milliseconds(500) { return "the stop took \(time)" }
            } catch {
                return "the stop failed: \(error)"
            }
        }
        run.camera.set { $0.refusals = [] }
        do throws(CaptureError) { try run.start() } catch { return "the second start failed: \(error)" }
        guard run.probe.waitForMore(3) else { return "no frames after the second start" }
        return run.probe.disorder ?? run.leak
    }

    /// What is wrong with a capture that meets the fault while it runs; nil when nothing is.
    private static func tryRunning(_ waitsInDequeue: Bool = false, _ break: (CaptureRun) -> Void) -> String? {
        guard let run = try? CaptureRun.running(StreamingMachine(waitsInDequeue: waitsInDequeue)) else {
            return "no frames to begin with"
        }
        `break`(run)
        guard run.probe.waitForMore(20) else {
            return "\(run.probe.count) frames at \(run.capture.state), \(run.events)"
        }
        if run.capture.state != .running { return "frames come, but the state is \(run.capture.state)" }
        if run.camera.get({ $0.refusals.contains { $0.times > 0 } }) { return "the call was never made" }
        if let disorder = run.probe.disorder { return disorder }
        guard let time = try? run.stop(), time < .milliseconds(500) else { return "the stop took too long" }
        return run.leak
    }
}
