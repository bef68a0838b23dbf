import ArgumentParser

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// `capturer-demo doctor`: what this machine can do, and how to mend what is missing.
struct DoctorCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Says what this machine can do and how to mend what is missing.",
        discussion: "Exit code 0 when noise can be captured to a file, 69 otherwise.")

    @Flag(help: "One JSON object, for programs.") var json = false

    func execute(_ context: ToolContext) throws(Refusal) -> ExitStatus {
        let report = DoctorReport(findings: LibraryChecks.run() + MachineChecks.run())
        let style = TextStyle(isTerminal: isatty(STDOUT_FILENO) == 1, environment: environmentVariable)
        try StandardOutput.write(json ? report.json.text : report.text(style))
        return report.canCapture ? .success : .unavailable
    }
}
