import Glibc
import MediaPublishing
import TestTools
import Testing
import VideoCapturing

@testable import CaptureTool

@Suite struct OutputWordsTests {
    @Test(
        arguments: [
            ("a.webm", "a.webm", [:]), ("a.webm,size=vga,fps=10", "a.webm", ["size": "vga", "fps": "10"]),
            ("a,b.webm,preset=vga", "a,b.webm", ["size": "vga"]),
            ("a.webm,overlay=Hello, world,crop=1,2,3x4", "a.webm", ["overlay": "Hello, world", "crop": "1,2,3x4"]),
            ("rtmp://h/a?b=1,c=2", "rtmp://h/a?b=1,c=2", [:]),
            ("serve://8080,jpeg-quality=5", "serve://8080", ["jpeg-quality": "5"]),
            ("a.webm,overlay=a=b", "a.webm", ["overlay": "a=b"]), ("-,bitrate=1M", "-", ["bitrate": "1M"]),
            ("", "", [:]),
            (",fps=1", "", ["fps": "1"]),
        ] as [(String, String, [String: String])])
    func placesAndOptions(text: String, place: String, options: [String: String]) throws {
        let split = try OutputWords.split(text, demoCatalog)
        #expect(split.place == place)
        #expect(split.own == OptionValues(options.mapValues { [$0] }))
    }

    @Test func anOutputHasItsOwn() throws {
        let plan = try plan(
            "--source", "noise", "--bitrate", "1M", "--overlay", "x", "-o", "a.webm,fps=10,bitrate=200k", "-o",
            "b.webm", "--serve",
            "0,overlay=y,jpeg-quality=5")
        #expect(plan.outputs.map(\.frames.frameRate) == [10, nil, nil])
        #expect(plan.outputs.map(\.frames.overlay?.text) == ["x", "x", "y"])
        #expect(plan.outputs.map(\.encoding?.bitrate) == [200_000, nil, nil])
        #expect(plan.encoding.bitrate == 1_000_000)
        #expect(plan.outputs[2].request.options["jpeg-quality"] == "5")
        #expect(plan.outputs[0].request.target == "a.webm")
    }

    @Test(
        arguments: [
            ("a.webm,sise=vga", "Did you mean size?"), ("a.webm,fit=pad", "has no effect without a size"),
            ("a.webm,jpeg-quality=5", "webm has no option jpeg-quality"), ("a.y4m,bitrate=1M", "is not encoded"),
            ("a.webm,fps=1,fps=2", "twice"), ("a.webm,crop=1,2", "give X,Y,WIDTHxHEIGHT"),
        ])
    func errors(output: String, reason: String) throws {
        let error = #expect(throws: OptionError.self) { try plan("-o", output) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }
}

@Suite struct OptionDefaultsTests {
    private let options = ToolCommand.capture.allOptions(demoCatalog)

    @Test func variables() throws {
        let defaults = try OptionDefaults(
            besides: OptionValues(), options,
            variables: [
                ("CAPTURER_BITRATE", "2M"), ("CAPTURER_PRESET", "vga"), ("CAPTURER_KEEP_GOING", "yes"),
                ("CAPTURER_FORCE", "0"),
                ("CAPTURER_OUTPUT", "a.webm\nb.webm"), ("CAPTURER_DEMO", "x"), ("CAPTURER_LOGIN", "a:b"), ("HOME", "x"),
            ])
        #expect(
            defaults.values
                == OptionValues([
                    "bitrate": ["2M"], "size": ["vga"], "keep-going": [""], "output": ["a.webm", "b.webm"],
                ]))
        let error = defaults.explained(OptionError("bitrate", "2M", "is wrong."))
        #expect(error.message == "--bitrate '2M': is wrong. It comes from the variable CAPTURER_BITRATE.")
        #expect(!defaults.explained(OptionError("frames", "2", "is wrong.")).message.contains("comes from"))
    }

    @Test func aFlagIsOnOrOff() {
        let error = error { () throws(ExitError) in
            try OptionDefaults(besides: OptionValues(), options, variables: [("CAPTURER_FORCE", "perhaps")])
        }
        #expect(error?.status == .usage && error?.message.contains("yes or no") == true)
    }

    @Test(arguments: [
        ("bitrate 2M", "no '=' in the line; write bitrate = BITS"),
        ("force now", "no '=' in the line; write force = yes"),
        ("bitrte = 2M", "Did you mean bitrate?"), ("bitrate = 2M # test", "a comment needs a line of its own"),
        ("bitrate = # test", "a comment needs a line of its own"), ("bitrate", "bitrate needs a value"),
        ("config = a", "no option config"),
    ]) func linesThatAreWrong(line: String, words: String) throws {
        let folder = TemporaryFolder()
        let path = try folder.write(Array("# a comment\n\n\(line)\n".utf8), to: "a.conf")
        let error = error { () throws(ExitError) in
            try OptionDefaults(besides: OptionValues(["config": [path]]), options, variables: [])
        }
        #expect(error?.status == .usage && error?.message.contains("\(path), line 3: ") == true)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test func linesThatAreRight() throws {
        let folder = TemporaryFolder()
        let path = try folder.write(
            Array("\u{FEFF}# x\r\n overlay= #1 = a#b \r\nforce\nkeep-going = no".utf8), to: "a.conf")
        let defaults = try OptionDefaults(besides: OptionValues(["config": [path]]), options, variables: [])
        #expect(defaults.values == OptionValues(["overlay": ["#1 = a#b"], "force": [""]]))
    }

    @Test func variablesThatAreMisspelled() {
        let names = [
            "CAPTURER_BITRTE", "CAPTURER_BITRATE", "CAPTURER_LOGIN", "CAPTURER_DEMO", "CAPTURER_CAMERAS", "BITRTE",
            "CAPTURER_",
            "CAPTURER_SYNC_MINUTES", "CAPTURER_UNIT_TESTS",
        ]
        let found = OptionDefaults.misspelled(names, options)
        #expect(found.map(\.variable) == ["CAPTURER_BITRTE"] && found.map(\.meant) == ["CAPTURER_BITRATE"])
        #expect(OptionDefaults.environmentNames.contains("PATH"))
    }

    /// An unreadable file is no fault of the command line, and a service need not be started again for it.
    @Test func aLoginThatMayNotBeReadIsDenied() async throws {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let path = try folder.write(Array("a:b".utf8), to: "login")
            let options = ToolCommand.capture.allOptions(demoCatalog)
            func check(_ value: String, login: String?) -> ExitError? {
                let values = OptionValues(["serve-login": [value]])
                return error { () throws(ExitError) in
                    try OptionDefaults.checkSecrets(values, options, login: login)
                }
            }
            try #require(check("@\(path)", login: "@\(path)") == nil)
            chmod(folder.path, 0o755)
            chmod(path, 0)
            if getuid() == 0 { try #require(seteuid(65534) == 0) }
            try #require(check("@\(path)", login: nil)?.status == .noPermission)
            try #require(check("a:b", login: "@\(path)")?.status == .noPermission)
            try #require(check("a:b", login: nil) == nil)
            if getuid() == 0 { try #require(seteuid(0) == 0) }
        }
        #expect(throws: OptionError.self) { try OptionValues(["x": ["@/"]]).secret("x") }
    }

    @Test func aFolderIsNoFile() {
        let error = error { () throws(ExitError) in
            try OptionDefaults(besides: OptionValues(["config": ["/"]]), options, variables: [])
        }
        #expect(error?.status == .noInput)
    }
}
