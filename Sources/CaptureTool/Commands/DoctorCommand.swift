import AudioCapturing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension ToolCommand {
    /// `capturer-demo doctor`: checks this machine, and says how to fix missing parts.
    static let doctor = ToolCommand(
        name: "doctor", summary: "what this machine can do, and how to fix the rest",
        discussion: { _ in "Exit code 0 when noise can be captured to a file, 69 otherwise." },
        options: { _ in [OptionGroup(owner: .tool, options: [.flag("json", "one JSON object, for programs")])] },
        run: { (arguments, context) throws(ExitError) in
            let report = DoctorReport(findings: DoctorReport.check(context.catalog))
            let style = TextStyle(isTerminal: isatty(STDOUT_FILENO) == 1, environment: environmentVariable)
            try StandardOutput.write(arguments.values.contains("json") ? report.json.text : report.text(style))
            return report.canCapture ? .success : .unavailable
        })
}

/// The findings of the doctor, as text and as JSON.
struct DoctorReport: Sendable {
    var findings: [Finding]

    /// Whether noise can be captured to a file.
    var canCapture: Bool { !findings.contains { $0.state == .broken } }

    /// What the encoders that work here make, by the first words of their summaries: `VP8`, `H.264`.
    private var codecs: [String] {
        var names: [String] = []
        for finding in findings where finding.topic == "encoders" && finding.state == .ok {
            let name = String(finding.detail.prefix { $0 != " " })
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

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
                ? "This machine can encode \(codecs.joined(separator: ", ")). To try it: capturer-demo --source noise"
                : "This machine cannot capture yet: fix the broken items.")
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

extension DoctorReport {
    /// Checks what the catalog has and the machine, with the findings of a topic together.
    static func check(_ catalog: ToolCatalog) -> [Finding] {
        var findings = [LanguageCheck.finding] + catalog.checks.map { $0() }
        findings += catalog.encoders.map { entry in
            let problem = entry.problem()
            return Finding("encoders", entry.name, problem == nil ? .ok : .missing, entry.summary, remedy: problem)
        }
        findings += MachineChecks.system + catalog.sources.entries.flatMap { $0.check?() ?? [] }
        findings += catalog.audioSources.entries.flatMap { $0.check?() ?? [] }
        findings += MachineChecks.session()
        var topics: [String] = []
        for finding in findings where !topics.contains(finding.topic) { topics.append(finding.topic) }
        return topics.flatMap { topic in findings.filter { $0.topic == topic } }
    }
}

/// The Swift version that the program was built with.
private enum LanguageCheck {
    static var finding: Finding {
        #if compiler(>=6.4)
            let version = "6.4 or later"
        #elseif compiler(>=6.3)
            let version = "6.3"
        #elseif compiler(>=6.2)
            let version = "6.2"
        #else
            let version = "6.1 or earlier"
        #endif
        return Finding("libraries", "Swift", .ok, "\(version) (built with)")
    }
}
