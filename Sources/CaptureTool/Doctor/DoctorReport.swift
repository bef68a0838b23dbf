/// What the doctor has found, in words and in JSON.
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
            if let remedy = finding.remedy { lines.append("        to mend it: \(remedy)") }
        }
        lines.append("")
        lines.append(
            canCapture
                ? "This machine can capture to VP8 files: capturer-demo --source noise"
                : "This machine cannot capture yet: mend what is broken.")
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
