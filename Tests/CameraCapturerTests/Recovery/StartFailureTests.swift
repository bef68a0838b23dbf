import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a camera that cannot be started is said to suffer from: a mode that it does not have is the user's to change,
/// a camera that is going away is not.
@Suite struct StartFailureTests {
    private func code(_ fault: Fault) -> CaptureError.Code? {
        let run = CaptureRun()
        run.camera.set { $0.refusals = [fault.refusal] }
        return #expect(throws: CaptureError.self, "\(fault)") { try run.start() }?.code
    }

    @Test(arguments: [EIO, EPROTO, ETIMEDOUT, ESHUTDOWN], [CallSite.setFormat, .setParameters, .requestBuffers])
    func aDriverThatFailsIsNoMatterOfTheMode(number: Int32, site: CallSite) {
        #expect(code(Fault(site: site, number: number, times: .max)) == .system)
    }

    @Test(arguments: [ENODEV, ENXIO], [CallSite.setFormat, .setParameters, .getParameters, .requestBuffers])
    func aCameraThatIsGoneIsLost(number: Int32, site: CallSite) {
        #expect(code(Fault(site: site, number: number, times: .max)) == .deviceLost)
    }

    @Test func aModeThatIsRefusedIsAMatterOfTheMode() {
        #expect(code(Fault(site: .setFormat, number: EINVAL, times: .max)) == .formatUnsupported)
    }

    /// No later call says what is wrong with a node that answers nothing about its present format.
    @Test(arguments: [EIO, ENODEV, ENXIO])
    func aCameraThatGoesAfterItsFormatWasAskedIsNoMatterOfTheMode(number: Int32) {
        let run = CaptureRun()
        run.camera.set { state in
            state.refusals = [CallSite.getFormat, .setFormat].map {
                Fault(site: $0, number: number, times: .max).refusal
            }
        }
        let error = #expect(throws: CaptureError.self) { try run.start() }
        #expect(error?.code == (number == EIO ? .system : .deviceLost))
    }
}
