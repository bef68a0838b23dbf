import Testing
import VideoCapturing

@_spi(Fuzzing) @testable import CaptureTool

/// What users of other programs type, and what they are told to do instead.
@Suite struct NamesElsewhereTests {
    @Test(
        arguments: [
            ("-ss 5", "--start"), ("-an", "--audio none"), ("-vf scale=1:2", "-o a.webm,size=…"),
            ("-crf 23", "--quality"), ("-c copy", "--codec copy"), ("-c:v libx264", "--codec"),
            ("-preset slow", "--speed"), ("--preset slow", "--speed"), ("-framerate 30", "--fps"),
            ("-filter_complex x", "-o a.webm,size=…"), ("-fps 30", "Did you mean --fps?"), ("-b:v 2M", "--bitrate"),
            ("-b:a 64k", "--audio-bitrate"), ("-f v4l2 -i /dev/video0 out.mp4", "--source camera --device DEVICE"),
            ("a.mp4 b.webm", "-o b.webm"), ("-i /dev/video0", "--source camera --device"),
            ("--source noise -i b.webm", "write it with -o"), ("--source noise --source pattern", "second one"),
            ("-i a.mp4 -i b.mp4", "second one"),
        ])
    func optionsOfOthers(line: String, advice: String) {
        let error = CommandLineProbe.error(of: line.split(separator: " ").map(String.init))
        #expect(error?.contains(advice) == true, "\(line): \(error ?? "is valid")")
    }

    @Test(
        arguments: [
            ("/dev/video9", "v4l2:/dev/video20"), ("v4l2loopback:", "v4l2:/dev/video20"), ("camera:a", "pipewire:NAME"),
            ("ndi:studio", "srt://"), ("ndi://studio", "srt://"), ("webrtc:room", "whip:https://"), ("a.gif", "ffmpeg"),
            ("rtsp://0.0.0.0:8554/cam", "?listen"), ("rtmp://[::]/live", "MediaMTX"), ("a.avi", ".mkv"),
            ("film.HEVC", "H.264 and VP8"), ("a.webm,codec=av1", "H.264 and VP8"),
        ])
    func outputsThatThereAreNot(output: String, advice: String) {
        let error = CommandLineProbe.error(of: ["--source", "noise", "-o", output])
        #expect(error?.contains(advice) == true, "\(error ?? "is valid")")
    }

    @Test(arguments: [
        ("libcamera", "rpicam-vid"), ("wayland", "--source screen"), ("RTSP", "--input"), ("v4l2", "--source camera"),
    ])
    func sourcesThatThereAreNot(source: String, advice: String) {
        #expect(CommandLineProbe.error(of: ["--source", source])?.contains(advice) == true)
    }

    @Test(arguments: [
        ("ndi://x", "SRT"), ("NDI://x", "SRT"), ("ftp://h/a.mp4", "curl"), ("wss://h/x", "rtsp://"),
        ("foo://x", "scheme foo. There are "), ("a+b://x", "scheme a+b. There are "),
    ])
    func inputsThatAreNotRead(input: String, advice: String) {
        for line in [["--input", input], ["--input", input, "--codec", "copy"]] {
            let error = CommandLineProbe.error(of: line)
            #expect(error?.contains(advice) == true, "\(line): \(error ?? "is valid")")
        }
    }

    @Test(arguments: ["a:b.webm", "./ndi://x", "1://x", "a b://x", "file:///tmp/a.webm", "RTSP://h/x", "c:/a.webm"])
    func inputsThatMayBeRead(input: String) { #expect(CommandLineProbe.error(of: ["--input", input]) == nil) }

    /// As the tool of `make demo`.
    @Test func aToolWithoutInputsSaysSo() {
        var small = demoCatalog
        small.sources = CapturerCatalog(demoCatalog.sources.entries.filter { ["noise", "pattern"].contains($0.name) })
        small.packetInputs = [:]
        for (line, advice) in [
            (["--input", "a.webm"], "no source of this tool reads a file or a URL"),
            (["--input", "http://h/x"], "no source of this tool reads a file or a URL"),
            (["--codec", "copy"], "the whole tool passes on the packets"),
        ] {
            let error = #expect(throws: (any Error).self) {
                try CapturePlan(try ToolCommand.parse(line, small).1, catalog: small)
            }
            #expect(error.map { "\($0)".contains(advice) } == true, "\(line): \(error.map { "\($0)" } ?? "is valid")")
        }
    }

    @Test(
        arguments: [
            ("a.webm,rate=10", "no output has the option rate; there are size, fps"),
            ("a.webm,audio=none", "applies to all outputs; write --audio"), ("a.webm,scale=0.5", "size=50%"),
            ("a.webm,width=320", "Here it is size"), ("a.webm,size=0.5", "50%"),
        ])
    func whatNoOutputHas(output: String, advice: String) {
        let error = CommandLineProbe.error(of: ["--source", "noise", "-o", output])
        #expect(error?.contains(advice) == true, "\(error ?? "is valid")")
    }

    @Test(arguments: [
        "a,b=c.webm", "a.webm,size=50%", "a.webm,size=320x", "a.webm,size=x240,fps=5", "b=c.webm",
        "rtsp://10.0.0.0/cam",
    ])
    func namesThatAreTaken(output: String) {
        #expect(CommandLineProbe.error(of: ["--source", "noise", "-o", output]) == nil)
    }

    /// An option of the output, not the name of a mode of the source.
    @Test func aRelativeSizeIsOfAllOutputs() throws {
        let plan = try plan("--source", "noise", "--size", "50%", "-o", "a.webm", "-o", "b.webm,size=vga")
        #expect(plan.request.options["size"] == nil)
        #expect(plan.outputs.map(\.frames.size) == [.percent(50), .init(width: 640, height: 480)])
    }
}
