/// The tool's exit codes, those of `<sysexits.h>`.
public enum ExitStatus: Int32, Sendable, Hashable, CaseIterable {
    /// Done.
    case success = 0
    /// The command line is at fault.
    case usage = 64
    /// No such device, input or folder, or an input that cannot be read.
    case noInput = 66
    /// A library or display is not there.
    case unavailable = 69
    /// Reading or writing failed.
    case inputOutput = 74
    /// The device is in use.
    case busy = 75
    /// Not allowed.
    case noPermission = 77
    /// A second interrupt ended the run at once.
    case interrupted = 130
}

/// Why nothing was done: one sentence and the exit code.
struct Refusal: Error, Sendable, Hashable {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}
