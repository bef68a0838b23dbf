import MediaPublishing
import VideoCapturing

/// The preview in the terminal. The key `s` takes a still.
final class TerminalOutput: MediaOutput {
    private let terminal: Terminal

    init(_ terminal: Terminal) { self.terminal = terminal }

    var name: String { "terminal" }
    var kind: String { "preview" }
    var feed: OutputContext.Feed {
        .frames(.init(isConverted: false, queue: .init(capacity: 1, policy: .dropOldest)))
    }

    func open(_ context: OutputContext) throws -> OutputContext.Destination {
        guard terminal.isInteractive else {
            throw OptionError("output", "terminal", "standard error is not a terminal; leave it out.")
        }
        terminal.enterPreview()
        terminal.keyboard.begin { key in
            if key == UInt8(ascii: "s") || key == UInt8(ascii: "S") { context.requestStill() }
        }
        return .consumer(PreviewConsumer(terminal))
    }

    func close(at end: MediaTime?) {
        terminal.keyboard.end()
        terminal.leavePreview()
    }

    var outputStatistics: OutputStatistics { OutputStatistics(bytes: 0) }
}

extension OutputEntry {
    /// The preview in the terminal, as `-o terminal`.
    static let terminal = OutputEntry(
        name: OutputEntry.terminalName, summary: "the frames in this terminal, as text; key: s takes a still",
        needsTarget: false, hasKeys: true,
        make: { _ in TerminalOutput(.shared) })
}

extension OutputShorthand {
    /// `--preview`, for `-o terminal`.
    static let preview = OutputShorthand(
        option: .flag("preview", "shows the frames in the terminal; as -o terminal"),
        prefix: OutputEntry.terminalName)
}
