import ArgumentParser
import MediaFiles
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The tool.
public enum CapturerDemo {
    /// The version of the tool.
    public static let version = "0.1.0"

    /// Does what the command line asks for.
    ///
    /// - Parameter arguments: without the program's name.
    /// - Returns: the exit code.
    public static func run(_ arguments: [String]) -> Int32 {
        let terminal = Terminal()
        do {
            return try execute(arguments, terminal).rawValue
        } catch {
            terminal.writeError(error.message)
            return error.status.rawValue
        }
    }

    private static func execute(_ arguments: [String], _ terminal: Terminal) throws(Refusal) -> ExitStatus {
        let command: any ParsableCommand
        do {
            command = try RootCommand.parseAsRoot(arguments)
        } catch {
            guard RootCommand.exitCode(for: error) == .success else {
                throw Refusal(.usage, message(for: error, arguments: arguments))
            }
            try StandardOutput.write(answer(to: error, arguments: arguments))
            return .success
        }
        guard let command = command as? any ToolCommand else {
            throw Refusal(.usage, "no command; see capturer-demo --help.")
        }
        return try command.execute(ToolContext(terminal: terminal))
    }

    /// Help and version.
    private static func answer(to request: any Error, arguments: [String]) -> String {
        let names = arguments.filter { !$0.hasPrefix("-") && $0 != "help" }
        let isOfCommand = names.first.map { ["list", "doctor"].contains($0) } ?? false
        if isOfCommand || arguments.contains("--version") { return RootCommand.fullMessage(for: request) }
        return HelpText.text(demoCatalog)
    }

    /// What is wrong with the command line, on one line.
    static func message(for error: any Error, arguments: [String]) -> String {
        let text = RootCommand.message(for: error).split(whereSeparator: \.isNewline).joined(separator: " ")
        if let word = arguments.first, !word.hasPrefix("-"),
            let command = nearestName(to: word, in: ["list", "doctor", "capture"])
        {
            return "\(printable(text, limit: 300)). Did you mean capturer-demo \(command)?"
        }
        let stop = text.hasSuffix(".") || text.hasSuffix("?") ? "" : "."
        return "\(printable(text, limit: 300))\(stop) See capturer-demo --help."
    }
}
