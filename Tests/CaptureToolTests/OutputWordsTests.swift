import MediaPublishing
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

    @Test func aFolderIsNoFile() {
        let error = error { () throws(ExitError) in
            try OptionDefaults(besides: OptionValues(["config": ["/"]]), options, variables: [])
        }
        #expect(error?.status == .noInput)
    }
}
