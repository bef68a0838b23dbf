import ArgumentParser
import VideoCapturing

/// `capturer-demo list`: the sources and what they can be told.
struct ListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the sources with their options.")

    @Flag(help: "One JSON object, for programs.") var json = false

    func execute(_ context: ToolContext) throws(Refusal) -> ExitStatus {
        try StandardOutput.write(json ? ListCommand.json(demoCatalog).text : ListCommand.text(demoCatalog))
        return .success
    }

    static func text(_ catalog: CapturerCatalog) -> String {
        catalog.entries.map { entry in
            let width = (entry.options.map(\.name.count).max() ?? 0) + 4
            let options = entry.options.map { option in
                let padding = String(repeating: " ", count: width - option.name.count)
                let value = option.defaultValue.map { " (default: \($0))" } ?? " (required)"
                return "\n  --\(option.name)\(padding)\(option.meaning)\(value)"
            }
            return "\(entry.name): \(entry.summary)" + options.joined()
        }.joined(separator: "\n\n")
    }

    static func json(_ catalog: CapturerCatalog) -> JSONValue {
        let sources = catalog.entries.map { entry in
            JSONValue.object([
                ("name", .string(entry.name)), ("summary", .string(entry.summary)),
                ("schemes", .array(entry.schemes.map { .string($0) })),
                (
                    "options",
                    .array(
                        entry.options.map { option in
                            .object([
                                ("name", .string(option.name)), ("meaning", .string(option.meaning)),
                                ("default", option.defaultValue.map { .string($0) } ?? .null),
                                ("required", .bool(option.defaultValue == nil)),
                            ])
                        })
                ),
            ])
        }
        return .object([("version", .integer(1)), ("sources", .array(sources))])
    }
}
