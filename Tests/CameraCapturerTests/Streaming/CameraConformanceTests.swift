import CLibV4L2
import CapturerTestKit
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct CameraConformanceTests {
    @Test func keepsTheContract() async {
        // The folders live as long as the machines.
        let machines = Locked<[StreamingMachine]>([])
        @Sendable func capture(failsOnce: Bool) -> CameraCapturer {
            machines.withLock { machines in
                let machine = StreamingMachine([FakeCamera.Mode(fourCC: .nv12, width: 32, height: 24, rate: 100)])
                machines.append(machine)
                if failsOnce {
                    machine.camera.set {
                        $0.refusals = [.init(request: clibv4l2_DQBUF, after: 3, times: 1, number: EIO)]
                    }
                }
                return CameraCapturer(
                    CameraCapturer.Configuration(desiredFrameRate: 100, reconnects: !failsOnce),
                    clock: MonotonicClock(),
                    directory: machine.directory)
            }
        }
        let report = await ConformanceSuite(
            name: "camera", makeFailingCapture: { capture(failsOnce: true) },
            makeCapture: { capture(failsOnce: false) }
        ).runDetached()
        #expect(report.failures.isEmpty, "\(report)")
        let isClean = machines.withLock { machines in
            machines.allSatisfy { !$0.camera.isOpen && $0.camera.mappings == 0 }
        }
        #expect(isClean)
    }
}
