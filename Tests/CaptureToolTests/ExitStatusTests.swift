import MediaContainers
import Testing
import VideoCapturing

@testable import CaptureTool

@Suite struct ExitStatusTests {
    @Test(arguments: [
        (CaptureError.Code.deviceNotFound, CaptureTool.ExitStatus.noInput), (.deviceBusy, .busy),
        (.permissionDenied, .noPermission), (.unavailable, .unavailable), (.corruptData, .noInput),
        (.system, .inputOutput), (.stalled, .inputOutput), (.invalidConfiguration, .usage),
        (.formatUnsupported, .usage),
    ])
    func capturesThatCannotBegin(code: CaptureError.Code, status: CaptureTool.ExitStatus) {
        #expect(
            ExitError(
                opening: CaptureError(code, operation: "open", message: "No."), isInputAtFault: false
            ).status == status)
    }

    /// Where the user names a file, what is wrong with it is not the command line's fault.
    @Test func filesThatCannotBeRead() {
        let error = CaptureError(.formatUnsupported, operation: "open", subject: "a.y4m", message: "No.")
        #expect(ExitError(opening: error, isInputAtFault: true) == ExitError(.noInput, "a.y4m: No."))
    }

    @Test(arguments: [
        (MediaFileError.Code.fileExists, CaptureTool.ExitStatus.usage), (.notFound, .noInput),
        (.permissionDenied, .noPermission),
        (.readOnly, .noPermission), (.fileInUse, .busy), (.noSpace, .inputOutput), (.system, .inputOutput),
    ])
    func outputsThatCannotBeOpened(code: MediaFileError.Code, status: CaptureTool.ExitStatus) {
        #expect(
            ExitError(
                opening: MediaFileError(code, operation: "open", message: "No."), isInputAtFault: true
            ).status == status)
    }

    @Test func failuresWhileRunning() {
        #expect(
            ExitError(writing: MediaFileError(.permissionDenied, operation: "write", message: "")).status
                == .inputOutput)
        #expect(ExitError(writing: CodecError(.library, operation: "encode", message: "")).status == .unavailable)
        #expect(ExitError(writing: CodecError(.formatUnsupported, operation: "encode", message: "")).status == .usage)
        let damaged = CaptureError(.corruptData, operation: "read", message: "")
        #expect(ExitError(whileRunning: damaged).status == .inputOutput)
    }
}
