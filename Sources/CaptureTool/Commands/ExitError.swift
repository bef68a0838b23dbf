import VideoCapturing

/// The tool's exit codes, those of `<sysexits.h>`.
enum ExitStatus: Int32, Sendable, Hashable, CaseIterable {
    /// Success.
    case success = 0
    /// The command line is invalid.
    case usage = 64
    /// No such device, input or folder, or an input that cannot be read.
    case noInput = 66
    /// A library or display is missing.
    case unavailable = 69
    /// Reading or writing failed.
    case inputOutput = 74
    /// The device is in use.
    case busy = 75
    /// Permission denied.
    case noPermission = 77
    /// A second interrupt ended the run immediately.
    case interrupted = 130
}

/// An error that ends the tool: one sentence for the user, and the exit code.
struct ExitError: Error, Sendable, Hashable {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}

extension ExitError {
    /// An option that cannot be used.
    init(_ error: OptionError) { self.init(.usage, error.description) }

    /// A capture, an encoder or an output that could not be set up or started.
    ///
    /// - Parameters:
    ///   - error: the thrown error.
    ///   - isInputAtFault: whether an input that the user named is at fault for what a capture does not accept; that is an input
    ///     error then, rather than a usage error.
    init(opening error: any Error, isInputAtFault: Bool) {
        if let error = error as? ExitError {
            self = error
            return
        }
        guard let error = error as? any CategorizedError else {
            self.init(error is OptionError ? .usage : .unavailable, "\(error)")
            return
        }
        let isOfCapture = error is CaptureError
        let status: ExitStatus =
            switch error.category {
            case .usage, .unsupported: isOfCapture && isInputAtFault ? .noInput : .usage
            case .notFound: .noInput
            case .invalidData: isOfCapture ? .noInput : .inputOutput
            case .busy: .busy
            case .noPermission: .noPermission
            case .unavailable: .unavailable
            case .noSpace, .disconnected, .system, .interrupted, .internal: .inputOutput
            }
        self.init(status, "\(error)")
    }

    /// A capture that has failed while it ran.
    init(whileRunning error: CaptureError) {
        let status: ExitStatus =
            switch error.category {
            case .busy: .busy
            case .noPermission: .noPermission
            case .unavailable: .unavailable
            default: .inputOutput
            }
        self.init(status, "\(error)")
    }

    /// An output or the encoder that has failed while the capture ran. What an encoder does not take, such as a size, is a
    /// matter of the command line.
    init(writing error: any Error) {
        let status: ExitStatus =
            switch (error as? CodecError)?.category {
            case .usage, .unsupported: .usage
            case .unavailable: .unavailable
            default: .inputOutput
            }
        self.init(status, "\(error)")
    }
}
