import Testing
import VideoCapturing

@testable import CaptureTool

/// The words of a command line.
@Suite struct ParsedArgumentsTests {
    private let options = [
        OptionDescription("output", .text("PATH"), "where to", default: "x", isRepeatable: true),
        OptionDescription("size", .text("SIZE"), "how large", default: "x", aliases: ["preset"]),
        OptionDescription("fps", .text("RATE"), "how fast", default: "x"),
        .flag("force", "overwrites"), .flag("quiet", "says nothing"),
    ]

    private func parse(_ words: [String]) throws(ExitError) -> ParsedArguments {
        try ParsedArguments(words, options: options, others: [("list", [.flag("modes", "modes")])])
    }

    @Test(
        arguments: [
            (["--output", "a"], ["output": ["a"]]), (["--output=a"], ["output": ["a"]]),
            (["-o", "a"], ["output": ["a"]]),
            (["-oa"], ["output": ["a"]]), (["-qf"], ["quiet": [""], "force": [""]]),
            (["-qfo", "a"], ["quiet": [""], "force": [""], "output": ["a"]]),
            (["-foa"], ["force": [""], "output": ["a"]]), (["-o", "a", "-o", "b"], ["output": ["a", "b"]]),
            (["--preset", "cif"], ["size": ["cif"]]), (["-o", "-"], ["output": ["-"]]),
            (["--output="], ["output": [""]]),
            (["--output", ""], ["output": [""]]), (["--output=a=b"], ["output": ["a=b"]]),
            (["--fps=-1"], ["fps": ["-1"]]),
            (["--fps", "-1"], ["fps": ["-1"]]), (["--output=--force"], ["output": ["--force"]]),
            (["--force", "--force"], ["force": [""]]), ([], [:]),
        ] as [([String], [String: [String]])])
    func values(words: [String], values: [String: [String]]) throws {
        let parsed = try parse(words)
        #expect(parsed.values == OptionValues(values))
        #expect(parsed.operands == [])
    }

    @Test func otherWordsAreOperands() throws {
        let parsed = try parse(["a", "--force", "-", "--", "--quiet", "-o"])
        #expect(parsed.operands == ["a", "-", "--quiet", "-o"])
        #expect(parsed.values == OptionValues(["force": [""]]))
    }

    @Test(
        arguments: [
            (["--szie", "1"], "--szie: unknown option. Did you mean --size? See capturer-demo --help."),
            (["--present=1"], "Did you mean --preset?"), (["--fps"], "--fps: needs a value, RATE;"),
            (["--fps", "--force"], "--fps: needs a value"), (["-o"], "--output: needs a value, PATH;"),
            (["-o", "-f"], "--output: needs a value"), (["--force=1"], "--force: takes no value"),
            (["-x"], "-x: unknown option."), (["-qx"], "-x: unknown option."), (["--"], ""),
            (["--modes"], "--modes: is an option of capturer-demo list."), (["--=1"], "--: unknown option."),
            (["--\u{1B}[2J"], "--?[2J: unknown option."),
            (["--" + String(repeating: "x", count: 1_000_000)], "…: unknown option."),
        ] as [([String], String)])
    func errors(words: [String], message: String) {
        let error = error { () throws(ExitError) in try parse(words) }
        #expect((error == nil) == message.isEmpty)
        guard let error else { return }
        #expect(error.status == .usage)
        #expect(error.message.contains(message), "\(error.message)")
        #expect(error.message.count < 300 && !error.message.contains { $0.isNewline })
    }

    /// Any words are values, operands, or an error of one line.
    @Test func anyWords() {
        let pieces = ["-", "--", "=", "o", "f", "force", "size", "output", "", "\u{1B}", "é", "--fps", "-o", " ", "\n"]
        var chance = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let words = (0..<Int.random(in: 0...5, using: &chance)).map { _ in
                (0..<Int.random(in: 0...4, using: &chance)).map { _ in pieces.randomElement(using: &chance)! }.joined()
            }
            do throws(ExitError) {
                let parsed = try parse(words)
                #expect(parsed.values.names.allSatisfy { name in options.contains { $0.name == name } })
            } catch {
                #expect(!error.message.contains { $0.isNewline }, "\(words)")
            }
        }
    }
}
