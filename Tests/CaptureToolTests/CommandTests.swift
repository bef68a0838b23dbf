import MediaPublishing
import Testing
import VideoCapturing

@testable import CaptureTool

@Suite struct CommandTests {
    @Test(arguments: [
        (["lst"], "lst: no such command. Did you mean capturer-demo list?"), (["--durations", "1"], "--duration"),
        (["docter"], "Did you mean capturer-demo doctor?"), (["--fps"], "--fps"),
        (["capture", "x", "y"], "unexpected argument"), (["list", "x"], "takes no argument"),
        (["help", "a", "b"], "b: unexpected argument"), (["--modes"], "--modes: is an option of capturer-demo list."),
        (["list", "--seed", "1"], "--seed: is an option of capturer-demo capture."),
        (["\u{1B}[2J"], "?[2J: no such command."),
    ])
    func aWrongCommandLineIsReportedOnOneLine(arguments: [String], hint: String) {
        let error = error { () throws(ExitError) in try ToolCommand.parse(arguments, demoCatalog) }
        #expect(error?.status == .usage)
        #expect(error?.message.contains(hint) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains { $0.isNewline } == false)
    }

    @Test func withoutACommandItCaptures() throws {
        let (command, arguments) = try ToolCommand.parse(["--source", "noise"], demoCatalog)
        #expect(command.name == "capture")
        #expect(arguments.values["source"] == "noise")
        #expect(try ToolCommand.parse(["capture", "-q"], demoCatalog).arguments.values.contains("quiet"))
        #expect(try ToolCommand.parse(["list", "--json"], demoCatalog).command.name == "list")
        #expect(try ToolCommand.parse([], demoCatalog).command.name == "capture")
    }

    @Test func playShowsItsInputInAWindow() throws {
        let (command, arguments) = try ToolCommand.parse(["play", "tcp://h:1", "--frames", "5"], demoCatalog)
        #expect(command.name == "play" && arguments.operands == ["tcp://h:1"])
        let words = ToolCommand.playing("tcp://h:1", arguments.values)
        let plan = try CapturePlan(words, catalog: demoCatalog)
        #expect(plan.source.name == "stream" && plan.request.input == "tcp://h:1" && plan.frames == 5)
        #expect(plan.outputs.map(\.entry.name) == ["window"])
        let more = ToolCommand.playing("a.webm", OptionValues(["output": ["b.y4m"]]))
        let both = try CapturePlan(more, catalog: demoCatalog)
        #expect(both.source.name == "file" && both.outputs.map(\.entry.name) == ["y4m", "window"])
    }

    @Test func helpIsGivenWhateverElseIsWrong() throws {
        #expect(try ToolCommand.parse(["--bogus", "-h"], demoCatalog).command.name == "help")
        let list = try ToolCommand.parse(["list", "--help"], demoCatalog)
        #expect(list.command.name == "help" && list.arguments.operands == ["list"])
        // Behind -- it is a word.
        let word = try ToolCommand.parse(["--", "--help"], demoCatalog)
        #expect(word.command.name == "capture" && word.arguments.operands == ["--help"])
    }

    @Test func theLibrariesWork() {
        let findings = DoctorReport.check(demoCatalog)
        let libraries = findings.filter { $0.topic == "libraries" }
        #expect(
            libraries.map(\.name) == ["Swift", "libvpx", "openh264", "libopus", "AAC", "libyuv", "SDL2", "libv4l2"])
        #expect(libraries.allSatisfy { $0.state == .ok })
        #expect(DoctorReport(findings: findings).canCapture)
        // What belongs together is together.
        let topics = findings.map(\.topic)
        #expect(zip(topics, topics.dropFirst()).filter { $0 != $1 }.count + 1 == Set(topics).count)
        #expect(Set(topics).isSuperset(of: ["system", "devices", "display", "programs", "place"]))
    }

    @Test func theDoctorSaysHowToFixIt() {
        let broken = DoctorReport(findings: [Finding("libraries", "x", .broken, "1", remedy: "reinstall it")])
        #expect(!broken.canCapture)
        #expect(broken.text(.plain).contains("to fix it: reinstall it"))
        #expect(broken.json.text.contains(#""state":"broken","detail":"1","remedy":"reinstall it""#))
    }

    @Test func anEncoderThatDoesNotWorkIsFound() {
        var catalog = demoCatalog
        catalog.checks = []
        catalog.encoders = [
            EncoderEntry(
                name: "h264", codec: .h264, summary: "H.264 in hardware", problem: { "There is no such device." },
                make: { _ in throw CodecError(.library, operation: "open", message: "No.") })
        ]
        let finding = DoctorReport.check(catalog).first { $0.topic == "encoders" }
        #expect(finding?.state == .missing)
        #expect(finding?.remedy == "There is no such device.")
        catalog.encoders = demoCatalog.encoders.filter { $0.name == "openh264" }
        let working = DoctorReport.check(catalog).first { $0.topic == "encoders" }
        #expect(working?.state == .ok && working?.name == "openh264" && working?.remedy == nil)
    }
}

/// What a program reads and people see of the catalog.
@Suite struct CatalogTests {
    /// Options that share a name must be parsed in one way.
    @Test func optionsWithOneNameAreAlike() {
        for command in ToolCommand.all {
            let groups = command.options(demoCatalog) + [OptionGroup(owner: .tool, options: ToolOptions.common)]
            let options = groups.flatMap(\.options)
            for option in options {
                for name in [option.name] + option.aliases {
                    let same = options.filter { $0.isNamed(name) }
                    #expect(same.allSatisfy { $0.isFlag == option.isFlag && $0.name == option.name }, "\(name)")
                }
                #expect(!option.help.isEmpty && !option.help.hasSuffix("."), "\(option.name)")
                #expect(option.name.allSatisfy { $0.isLowercase || $0 == "-" }, "\(option.name)")
            }
        }
    }

    @Test func namesAreUnique() {
        let topics = HelpText.topics(demoCatalog)
        #expect(Set(topics).count == topics.count)
        for (letter, name) in ToolOptions.letters {
            let count = ToolCommand.capture.allOptions(demoCatalog).filter { $0.name == name }.count
            #expect(count == 1, "\(letter)")
        }
        let schemes = demoCatalog.sources.entries.flatMap(\.schemes)
        #expect(Set(schemes).count == schemes.count)
        #expect(
            demoCatalog.sources.entries.allSatisfy { entry in
                entry.inputOption.map { entry.option(named: $0) != nil } ?? true
            })
        #expect(throws: Never.self) { try demoCatalog.outputs.resolve(demoCatalog.defaultOutput) }
        for shorthand in demoCatalog.shorthands {
            #expect(throws: Never.self) { try demoCatalog.outputs.resolve(shorthand.prefix) }
        }
    }

    @Test func theListHasEverything() throws {
        let listings = try DeviceListings(OptionValues(), demoCatalog)
        let text = listings.text
        #expect(text.contains("--input") && text.contains("(required)") && text.contains("encoder vp8: "))
        #expect(text.contains("output webm: ") && text.contains("(.webm)") && text.contains("(serve://)"))
        let json = listings.json.text
        #expect(json.hasPrefix(#"{"version":2,"sources":[{"name":"noise","#))
        #expect(json.contains(#""cameras":["#) && json.contains(#""screens":["#))
        #expect(json.contains(#"{"name":"size","aliases":["preset"],"kind":"text","value":"SIZE","choices":[],"#))
        #expect(json.contains(#""encoders":[{"name":"vp8","#) && json.contains(#""outputs":["#))
        #expect(json.contains(#""kind":"secret""#) && json.contains(#""kind":"choice""#))
        for entry in demoCatalog.sources.entries {
            for option in entry.options { #expect(json.contains(#"{"name":"\#(option.name)","#)) }
        }
    }

    /// An option of a kind of device chooses it, and needs one.
    @Test func aQueryNeedsADevice() {
        let values = OptionValues(["device": ["/dev/null"]])
        let error = error { () throws(ExitError) in try DeviceListings(values, demoCatalog) }
        #expect(error?.status == .noInput)
        #expect(error?.message.contains("not a camera") == true)
        let invalid = OptionValues(["modes": [""], "size": ["huge"]])
        let usage = CaptureToolTests.error { () throws(ExitError) in try DeviceListings(invalid, demoCatalog) }
        #expect(usage?.status == .usage)
        #expect(usage?.message.hasPrefix("--size 'huge'") == true)
    }

    @Test func aSmallToolSaysThatThereIsMore() throws {
        var catalog = demoCatalog
        catalog.remark = "Build all of it."
        catalog.radio = nil
        #expect(HelpText.overview(catalog).contains("\nBuild all of it.\n"))
        #expect(HelpText.usage(catalog).last == "Build all of it.")
        #expect(CapturerDemo.explained(ExitError(.usage, "No."), catalog) == "No. Build all of it.")
        #expect(CapturerDemo.explained(ExitError(.busy, "Wait."), catalog) == "Wait.")
        #expect(CapturerDemo.explained(ExitError(.usage, "No."), demoCatalog) == "No.")
        // Without radios `play` has no option of theirs.
        #expect(try !HelpText.text("play", catalog).contains("--sound"))
        #expect(try !HelpText.text("play", catalog).contains("radio is MP3"))
    }

    @Test func theKernelKeepsTheCommandLine() {
        #expect(processStrings("cmdline") == CommandLine.arguments)
        #expect(processStrings("none").isEmpty)
    }

    @Test func sourcesOfStrangersWork() throws {
        var catalog = demoCatalog
        let bars = CapturerEntry(
            name: "bars", summary: "Bars.",
            options: [OptionDescription("count", .text("N"), "how many bars", default: "8")],
            devices: DeviceDirectory(name: "bars") { _ in
                DeviceDirectory.Listing(lines: ["bar 1"], json: [.string("bar 1")])
            },
            check: { [Finding("bars", "bars", .ok, "eight")] },
            make: { request in
                _ = try request.options.count("count", in: 1...8)
                return CatalogSource(PushCapturer(format: .i420(width: 2, height: 2)))
            })
        catalog.sources = CapturerCatalog(demoCatalog.sources.entries + [bars])
        let (_, arguments) = try ToolCommand.parse(["--count", "9"], catalog)
        let plan = try CapturePlan(arguments, catalog: catalog)
        #expect(plan.source.name == "bars")
        #expect(throws: OptionError.self) { try plan.source.make(plan.request) }
        #expect(HelpText.overview(catalog).contains("--count N"))
        #expect(Completion.bash.script(catalog).contains("--count"))
        #expect(Manual.text(catalog).contains(#"\fB\-\-count\fR \fIN\fR"#))
        let listings = try DeviceListings(OptionValues(), catalog)
        #expect(listings.json.text.contains(#""bars":["bar 1"]"#))
        #expect(DoctorReport.check(catalog).contains { $0.topic == "bars" })
    }
}
