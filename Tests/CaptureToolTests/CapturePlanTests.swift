import MediaPublishing
import Testing
import VideoCapturing

@testable import CaptureTool

@Suite struct CapturePlanTests {
    @Test func withoutOptionsNoiseGoesToAFile() throws {
        let plan = try plan()
        #expect(plan.source.name == "noise")
        #expect(plan.request == CapturerEntry.Request())
        #expect(plan.outputs.map(\.request) == [OutputEntry.Request(target: "capture.webm")])
        #expect(plan.outputs[0].entry.name == "webm")
        #expect(!plan.overwrites && !plan.hasSeveralOutputs && !plan.explains)
        #expect(plan.statistics == .text)
        #expect(plan.encoding == EncodingSettings())
    }

    /// A PNG alone has the colors of a screen as they are.
    @Test(arguments: [
        (["-o", "a.png"], true), (["-o", "a.png", "-o", "b.png"], true), (["-o", "a.jpg"], false),
        (["-o", "a.png", "-o", "b.webm"], false), (["-o", "a.png", "--preview"], false), ([], false),
    ]) func picturesOfPNGAreRed(_ outputs: [String], prefersRGB: Bool) throws {
        let plan = try plan(["--source", "noise"] + outputs)
        #expect(plan.request.prefersRGB == prefersRGB)
    }

    @Test func everythingIsTaken() throws {
        let plan = try plan(
            "--source", "noise", "--preset", "cif", "--fps", "max", "--pixel-format", "argb", "--seed", "7",
            "--orientation", "90", "--content-hint", "text", "--frames", "10", "--duration", "2", "-o", "a.ivf",
            "--output", "-", "--force", "--keep-going", "--bitrate", "1M", "--keyframe-interval", "30f", "--threads",
            "2", "--preview", "--stats", "none", "--quiet", "--codec", "vp8")
        // An alias is the option itself.
        #expect(
            plan.request.options
                == OptionValues(["size": ["cif"], "fps": ["max"], "pixel-format": ["argb"], "seed": ["7"]]))
        #expect(plan.request.input == nil)
        #expect(plan.orientation == .left)
        #expect(plan.contentHint == .text)
        #expect(plan.frames == 10)
        #expect(plan.duration == .seconds(2))
        #expect(plan.outputs.map(\.entry.name) == ["ivf", "webm", "terminal"])
        #expect(plan.outputs.map(\.request.target) == ["a.ivf", "-", ""])
        #expect(plan.outputs.map(\.request.overwrites) == [true, true, true])
        #expect(plan.overwrites && plan.keepsGoing && plan.isQuiet && plan.hasSeveralOutputs)
        #expect(plan.encoding.bitrate == 1_000_000)
        #expect(plan.encoding.codec == .vp8)
        #expect(plan.encoding.keyFrameInterval == .frames(30))
        #expect(plan.encoding.options == OptionValues(["threads": ["2"]]))
        #expect(plan.statistics == .none)
    }

    @Test(
        arguments: [
            (["--input", "a.y4m"], "file", "a.y4m"), (["--input", "file:///a.y4m"], "file", "file:///a.y4m"),
            (["--input", "http://h/"], "mjpeg", "http://h/"), (["--device", "C920"], "camera", "C920"),
            (["--input", "v4l2:/dev/video2"], "camera", "v4l2:/dev/video2"), (["--keep-rate"], "camera", nil),
            (["--display", ":0"], "screen", ":0"), (["--input", "x11::7"], "screen", "x11::7"),
            (["--window", "a"], "screen", nil), (["--monitor", "a"], "screen", nil),
            (["--region", "0,0,2x2"], "screen", nil),
            (["--seed", "1"], "noise", nil), (["--fps", "5"], "noise", nil), (["--bitrate", "1M"], "noise", nil),
            (["--source", "mjpeg", "--input", "x"], "mjpeg", "x"),
            (["--input", "tcp://0.0.0.0:9000?listen"], "stream", "tcp://0.0.0.0:9000?listen"),
            (["--input", "rtsp://h/1"], "stream", "rtsp://h/1"),
            (["--stream-format", "h264", "--input", "tcp://h:1"], "stream", "tcp://h:1"),
            (["--display", ":0", "-o", "a.webm"], "screen", ":0"), (["--display", ":0", "-o", "window"], "noise", nil),
            (["--display", ":0", "-o", "window", "--source", "screen"], "screen", ":0"),
        ] as [([String], String, String?)])
    func theSourceIsFound(arguments: [String], name: String, input: String?) throws {
        let plan = try plan(arguments)
        #expect(plan.source.name == name)
        #expect(plan.request.input == input)
        // The input is not an option as well.
        #expect(!plan.request.options.contains("input") && !plan.request.options.contains("device"))
    }

    @Test(
        arguments: [
            (["--source", "niose"], "Did you mean noise?"), (["--source", "file"], "needs --input"),
            (["--source", "file", "--input", ""], "needs --input"),
            (["--loop"], "--loop: is for the source file, which needs --input"),
            (["--rate", "2", "-o", "null"], "--rate '2': is for the source file, which needs --input"),
            (["--source", "noise", "--input", "x"], "noise has no such option; leave out --source"),
            (["--input", "x", "--seed", "1"], "--seed '1': file has no such option; noise has it."),
            (["--frames", "0"], "from 1 to"), (["-o", "-", "-o", "md5"], "only one output"),
            (["-o", "a.y4m", "--bitrate", "1M"], "no output is encoded"),
            (["-o", "a.y4m", "--threads", "2"], "no output is encoded"),
            (["-o", "a.y4m", "--codec", "vp8"], "no output is encoded"),
            (["--quiet", "--stats", "json"], "cannot be combined with --quiet"),
            (["--preview", "--stats", "json"], "--preview: cannot be combined with --stats json"),
            (["-o", "terminal", "--stats", "json"], "--output: cannot be combined with --stats json"),
            (["-o", "a.wbem"], "webm"), (["-o", ""], "give a file name"),
            (
                ["--jpeg-quality", "50"],
                "--jpeg-quality: has no effect without an output that has it; add --serve PORT."
            ),
            (["--serve-login", "a:b"], "add --serve PORT"),
            (["--serve", "99999"], "--serve '99999': give [ADDRESS:]PORT"),
            (["--serve", "0", "--jpeg-quality", "101"], "from 1 to 100"),
            (["--serve", "0", "--serve-host", "http://printer.local"], "give the name alone"),
            (["--serve", "0", "--serve-webrtc-bitrate", "0"], "a bitrate is 1k to 2000M"),
            (["--serve", "0", "--serve-login", "geheim"], "give NAME:PASSWORD"),
        ] as [([String], String)])
    func whatDoesNotFitTogether(arguments: [String], reason: String) throws {
        let error = #expect(throws: OptionError.self) { try plan(arguments) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ["--source", "noise", "--control", "x=1"], ["--source", "noise", "--keep-rate"],
        ["--source", "noise", "--capture-format", "NV12"],
        ["--source", "file", "--input", "a.y4m", "--device", "0"], ["--source", "camera", "--seed", "1"],
        ["--source", "camera", "--input", "a.y4m"], ["--source", "camera", "--pixel-format", "nv12"],
        ["--source", "noise", "--login", "bob:geheim"],
    ])
    func optionsOfOtherSourcesAreRefused(arguments: [String]) throws {
        let error = #expect(throws: OptionError.self) { try plan(arguments) }
        #expect(error?.description.contains("has no such option") == true)
        #expect(error?.description.contains("''") == false)
        #expect(error?.description.contains("geheim") == false)
    }

    @Test func packetsArePassedOnWhereNoOptionAsksForFrames() throws {
        let film = ["--input", "film.mp4", "-o", "a.mkv"]
        let stream = ["--input", "rtsp://h/1", "-o", "a.mkv"]
        #expect(try plan(film).proposedPackets?.isPaced == false)
        #expect(try plan(film + ["--serve", "0", "--codec", "auto"]).proposedPackets?.isPaced == true)
        #expect(try plan(film + ["--codec", "copy"]).packets?.isAutomatic == false)
        #expect(try plan(stream).packets?.isAutomatic == true)
        #expect(try plan(stream + ["-o", "b.webm,size=50%", "--record-on", "motion"]).packets != nil)
        for options in [
            ["--codec", "vp8", "-o", "b.webm"], ["--bitrate", "1M"], ["--frames", "5"],
            ["--overlay", "a"],
            ["--audio", "none"], ["--orientation", "90"],
        ] {
            #expect(try plan(film + options).proposedPackets == nil, "\(options)")
            #expect(try plan(stream + options).packets == nil, "\(options)")
        }
        for (input, output) in [
            ("film.mp4", "a.y4m"), ("film.mp4", "a.mkv,size=50%"), ("rtsp://h/1", "a.webm"),
            ("tcp://h:1?format=ivf", "a.mkv"),
            ("rtsp://h/1", "tcp://h:1"), ("http://h/1", "a.mkv"),
        ] {
            let plan = try plan("--input", input, "-o", output)
            #expect(plan.packets == nil && plan.proposedPackets == nil, "\(input) \(output)")
        }
    }

    @Test func windowsAndStreamsTakeTheirOptions() throws {
        let window = try plan("-o", "window", "--display", ":7", "--mirror").outputs[0]
        #expect(window.entry.name == "window" && !window.isText)
        #expect(window.request.options == OptionValues(["display": [":7"], "mirror": [""]]))
        #expect(try plan("-o", "window", "--backend", "SDL").outputs[0].request.options["backend"] == "SDL")
        let stream = try plan("-o", "tcp://h:9000?format=matroska", "--codec", "h264", "--bitrate", "1M")
        #expect(stream.outputs[0].request.target == "tcp://h:9000?format=matroska")
        #expect(stream.encoding.codec == .h264)
        for (arguments, reason) in [
            (["-o", "tcp://h"], "no port"), (["--full-screen"], "add -o window"), (["-o", "windw"], "window"),
            (["--backend", "sdl"], "add -o window"),
            (["--input", "tcp://h:1", "-o", "window", "--bitrate", "1M"], "no output is encoded"),
        ] {
            let error = #expect(throws: OptionError.self) { try plan(arguments) }
            #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        }
    }

    @Test func aServerTakesThePlaceOfTheFile() throws {
        #expect(try plan("--serve", "0").outputs.map(\.entry.name) == ["serve"])
        #expect(try plan("-o", "serve://0").outputs.map(\.entry.name) == ["serve"])
        #expect(try plan("--serve", "0", "-o", "a.y4m").outputs.map(\.entry.name) == ["y4m", "serve"])
        #expect(try plan("--preview").outputs.map(\.entry.name) == ["terminal"])
        #expect(try plan("-o", "terminal").outputs.map(\.entry.name) == ["terminal"])
        let server = try plan("--serve", "0.0.0.0:8093", "--serve-host", "a.local", "--serve-host", "b.local").outputs[
            0]
        #expect(try server.makeOutput().name == "serve://0.0.0.0:8093")
        let plan = try plan("--serve", "0", "-o", "null", "--jpeg-quality", "50")
        // Each output gets what it has, and nothing else.
        #expect(plan.outputs[0].request.options == OptionValues())
        #expect(plan.outputs[1].request.options == OptionValues(["jpeg-quality": ["50"]]))
    }

    /// Values of a source's options are read when the source is made, which opens nothing.
    @Test(arguments: [
        (["--size", "0x0"], "--size"), (["--fps", "0"], "--fps"), (["--seed", "x"], "--seed"),
        (["--pixel-format", "x"], "--pixel-format"), (["--device", " "], "names no device"),
        (["--input", "v4l2:"], "names no device"), (["--input", "a.y4m", "--rate", "0"], "--rate"),
    ])
    func valuesOfSources(arguments: [String], reason: String) throws {
        let plan = try plan(arguments)
        let error = #expect(throws: OptionError.self) { try plan.source.make(plan.request) }
        #expect(error?.description.contains(reason) == true)
    }
}
