import ArgumentParser
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// `capturer-demo doctor`: checks what this machine can do, and says how to fix what is missing.
struct DoctorCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Checks what this machine can do, and says how to fix what is missing.",
        discussion: "Exit code 0 when noise can be captured to a file, 69 otherwise.")

    @Flag(help: "One JSON object, for programs.") var json = false

    func execute(_ context: ToolContext) throws(ExitError) -> ExitStatus {
        let report = DoctorReport(findings: LibraryChecks.run() + MachineChecks.run())
        let style = TextStyle(isTerminal: isatty(STDOUT_FILENO) == 1, environment: environmentVariable)
        try StandardOutput.write(json ? report.json.text : report.text(style))
        return report.canCapture ? .success : .unavailable
    }
}

/// The findings of the doctor, as text and as JSON.
struct DoctorReport: Sendable {
    var findings: [Finding]

    /// Whether noise can be captured to a file.
    var canCapture: Bool { !findings.contains { $0.state == .broken } }

    func text(_ style: TextStyle) -> String {
        let width = (findings.map(\.name.count).max() ?? 0) + 2
        var lines: [String] = []
        for finding in findings {
            let mark =
                switch finding.state {
                case .ok: "ok      "
                case .missing: style.warning("missing ")
                case .broken: style.error("broken  ")
                }
            lines.append(
                mark + finding.name + String(repeating: " ", count: width - finding.name.count) + finding.detail)
            if let remedy = finding.remedy { lines.append("        to fix it: \(remedy)") }
        }
        lines.append("")
        lines.append(
            canCapture
                ? "This machine can capture to VP8 files: capturer-demo --source noise"
                : "This machine cannot capture yet: fix what is broken.")
        return lines.joined(separator: "\n")
    }

    var json: JSONValue {
        .object([
            ("version", .integer(1)), ("canCapture", .bool(canCapture)),
            (
                "findings",
                .array(
                    findings.map { finding in
                        .object([
                            ("topic", .string(finding.topic)), ("name", .string(finding.name)),
                            ("state", .string(finding.state.rawValue)), ("detail", .string(finding.detail)),
                            ("remedy", finding.remedy.map { .string($0) } ?? .null),
                        ])
                    })
            ),
        ])
    }
}

/// The result of one check.
struct Finding: Sendable, Hashable {
    enum State: String, Sendable, Hashable {
        /// Present and working.
        case ok
        /// Missing; only what needs it is unavailable.
        case missing
        /// Broken; nothing can be captured without it.
        case broken
    }

    /// The part of the machine: `libraries`, `devices`, `display`, `programs`, `place`.
    var topic: String
    var name: String
    var state: State
    /// The version, or the result.
    var detail: String
    /// How to fix it; nil where nothing needs fixing.
    var remedy: String?

    init(_ topic: String, _ name: String, _ state: State, _ detail: String, remedy: String? = nil) {
        self.topic = topic
        self.name = name
        self.state = state
        self.detail = detail
        self.remedy = remedy
    }
}
