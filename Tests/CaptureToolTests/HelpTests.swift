import MediaPublishing
import TestTools
import Testing
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs a shell command.
///
/// - Returns: what it wrote to standard output and standard error, and its exit code.
private func shell(_ command: String) -> (text: String, code: Int32) {
    guard let pipe = popen("(\(command)) 2>&1", "r") else { return ("", -1) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { text += buffer[..<count] }
    return (String(decoding: text, as: UTF8.self), pclose(pipe) >> 8)
}

private let hasMan = shell("command -v man groff").code == 0
private let hasBash = shell("command -v bash").code == 0
private let hasZsh = shell("command -v zsh").code == 0
private let hasFish = shell("command -v fish").code == 0

@Suite struct HelpTests {
    @Test func theHelpHasEveryOptionAndFitsAScreen() {
        let help = HelpText.overview(demoCatalog)
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 124)
        #expect((lines.map(\.count).max() ?? 0) <= 98)
        for option in ToolCommand.capture.allOptions(demoCatalog) {
            for name in [option.name] + option.aliases { #expect(help.contains("--\(name)"), "\(name)") }
        }
        for name in demoCatalog.sources.names + ToolCommand.all.dropFirst().map(\.name) {
            #expect(help.contains(name))
        }
        #expect(lines.allSatisfy { $0.last != " " })
    }

    @Test func schemesThatAreRefusedAreNotOffered() throws {
        let texts = Completion.allCases.map { $0.script(demoCatalog) }
        for text in texts + [try HelpText.text("all", demoCatalog), Manual.text(demoCatalog)] {
            #expect(text.contains("icecast"))
            #expect(!text.contains("icecasts"))
        }
        // The reason is given all the same.
        let refusal = error(of: { () throws(OptionError) in _ = try demoCatalog.outputs.makeOutput("icecasts://h/a") })
        #expect(refusal?.description.contains("TLS") == true)
    }

    @Test func everyTopicHasAText() throws {
        for topic in HelpText.topics(demoCatalog) + ["all"] {
            let text = try HelpText.text(topic, demoCatalog)
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= 98 }, "\(topic)")
        }
        #expect(try HelpText.text(nil, demoCatalog) == HelpText.overview(demoCatalog))
        #expect(try HelpText.text("camera", demoCatalog).contains("--device CAMERA"))
        #expect(try HelpText.text("vp8", demoCatalog).contains("--threads N"))
        #expect(try HelpText.text("SERVE", demoCatalog).contains("--jpeg-quality N"))
        #expect(try HelpText.text("play", demoCatalog).contains("  --sound DEVICE "))
        #expect(try HelpText.text("list", demoCatalog).contains("--modes"))
        #expect(try HelpText.text("file", demoCatalog).contains("(required)"))
        let all = try HelpText.text("all", demoCatalog)
        for option in ToolCommand.all.flatMap({ $0.allOptions(demoCatalog) }) {
            #expect(all.contains("--\(option.name)"))
        }
        let error = error { () throws(ExitError) in try HelpText.text("camra", demoCatalog) }
        #expect(error?.message.contains("Did you mean camera?") == true)
    }

    @Test(.enabled(if: hasMan)) func theManualIsRenderedWithoutAWarning() throws {
        let folder = TemporaryFolder()
        let path = try folder.write(Array((Manual.text(demoCatalog) + "\n").utf8), to: "capturer-demo.1")
        let warnings = shell("LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l '\(path)' > '\(folder.path)/text'")
        #expect(warnings.text.isEmpty && warnings.code == 0, "\(warnings.text)")
        let text = shell("cat '\(folder.path)/text'").text
        for option in ToolCommand.all.flatMap({ $0.allOptions(demoCatalog) }) where option.name != "version" {
            guard option.name != "help" else { continue }
            #expect(text.contains("--\(option.name)"), "\(option.name)")
        }
        #expect(text.contains("capturer-demo --source noise"))
    }
}

@Suite struct CompletionTests {
    private func write(_ shell: Completion) throws -> (folder: TemporaryFolder, path: String) {
        let folder = TemporaryFolder()
        return (folder, try folder.write(Array((shell.script(demoCatalog) + "\n").utf8), to: "script"))
    }

    /// The words that bash offers for the last of some words.
    private func completions(_ words: [String], _ path: String, in folder: String) -> [String] {
        let list = words.map(Completion.quoted).joined(separator: " ")
        let script =
            "cd \(Completion.quoted(folder)); . \(Completion.quoted(path)); COMP_WORDS=(capturer-demo \(list)); "
            + "COMP_CWORD=\(words.count); _capturer_demo; printf \"%s\\n\" \"${COMPREPLY[@]}\""
        let result = shell("bash --norc -c \(Completion.quoted(script))")
        return result.text.split(separator: "\n").map(String.init).sorted()
    }

    @Test(.enabled(if: hasBash)) func bashCompletesWords() throws {
        let (folder, path) = try write(.bash)
        #expect(shell("bash -n '\(path)'") == ("", 0))
        try folder.write([1], to: "film.mp4")
        func complete(_ words: String...) -> [String] { completions(words, path, in: folder.path) }
        #expect(complete("do") == ["doctor"])
        #expect(complete("--sour") == ["--source"])
        #expect(complete("--source", "") == demoCatalog.sources.names.sorted())
        #expect(complete("--source", "no") == ["noise"])
        // Bash makes = a word of its own.
        #expect(complete("--source", "=", "no") == ["noise"])
        #expect(complete("--source", "=").contains("camera"))
        #expect(complete("--stats", "j") == ["json"])
        #expect(complete("--input", "fi") == ["film.mp4"])
        #expect(complete("-o", "fi") == ["film.mp4"])
        #expect(complete("-o", "nul") == ["null"])
        #expect(complete("-o", "ser") == ["serve-rtsp://", "serve://"])
        #expect(complete("--size", "72") == ["720p"])
        #expect(complete("--preset", "ci") == ["cif"])
        #expect(complete("--fps", "3") == [])
        #expect(complete("--frames", "") == [])
        #expect(complete("list", "--mod") == ["--modes"])
        #expect(complete("list", "--sour") == [])
        #expect(complete("--source", "noise", "--mod") == [])
        #expect(complete("help", "cam") == ["camera"])
        #expect(complete("completion", "").filter { !$0.hasPrefix("-") } == ["bash", "fish", "zsh"])
        for option in ToolCommand.capture.allOptions(demoCatalog) {
            #expect(complete("--\(option.name)").contains("--\(option.name)"))
        }
    }

    @Test(.enabled(if: hasZsh)) func zshTakesTheScript() throws {
        let (folder, path) = try write(.zsh)
        withExtendedLifetime(folder) { #expect(shell("zsh -n '\(path)'") == ("", 0)) }
    }

    @Test(.enabled(if: hasFish)) func fishTakesTheScript() throws {
        let (folder, path) = try write(.fish)
        withExtendedLifetime(folder) { #expect(shell("fish -n '\(path)'") == ("", 0)) }
    }

    /// Help texts have quotes and brackets in them.
    @Test(arguments: Completion.allCases) func everyOptionIsInTheScript(shell: Completion) {
        let script = shell.script(demoCatalog)
        for option in ToolCommand.all.flatMap({ $0.allOptions(demoCatalog) }) {
            #expect(script.contains(shell == .fish ? "-l \(option.name)" : "--\(option.name)"), "\(option.name)")
        }
        #expect(!script.contains("geheim"))
        #expect(Completion.quoted("camera's") == "'camera'\\''s'")
    }
}
