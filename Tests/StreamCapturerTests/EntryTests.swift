import FFmpegContainers
import Testing
import VideoCapturing

@testable import StreamCapturer

/// The options of the source `stream`.
@Suite struct EntryTests {
    private let entry = CapturerEntry.stream(decoders: [H264Decoder.factory], demuxers: [.ffmpeg])

    private func request(_ input: String, _ options: [String: String] = [:]) -> CapturerEntry.Request {
        CapturerEntry.Request(input: input, options: OptionValues(options.mapValues { [$0] }))
    }

    @Test(arguments: [
        "tcp://host:9000", "tcp://0.0.0.0:0?listen", "TCP://[::1]:9?listen=1&format=mkv", "rtsp://camera/1",
        "srt://host:1", "rtmp://host/live", "udp://239.0.0.1:5000",
    ])
    func takesAddresses(_ url: String) throws {
        let source = try entry.make(request(url))
        #expect(!source.isRecording)
        #expect(CapturerCatalog([entry]).entry(forURL: url)?.name == "stream")
    }

    /// As a server warns that anyone may watch.
    @Test func warnsThatAnyoneCanSend() {
        for url in ["tcp://0.0.0.0:9000?listen", "tcp://[::]:9000?listen", "tcp://192.168.1.5:9000?listen"] {
            #expect(CapturerEntry.openAddressWarning(url)?.contains("Everyone who can reach this machine") == true)
        }
        for url in ["tcp://127.0.0.1:9000?listen", "tcp://[::1]:9000?listen", "tcp://0.0.0.0:9000", "rtsp://h/1"] {
            #expect(CapturerEntry.openAddressWarning(url) == nil)
        }
    }

    @Test(
        arguments: [
            ("tcp://host", [:], "port"), ("tcp://host:0", [:], "Port 0"),
            ("tcp://h:1?format=matrosk", [:], "matroska?"),
            ("tcp://h:1?listn", [:], "Did you mean listen?"), ("tcp://h:1", ["stream-format": "h265"], "h264"),
            ("rtsp://ann:secret@h/1", ["stream-format": "h264"], "tcp:// only"), ("film.mp4", [:], "tcp://, rtsp://"),
            ("ftp://ann:secret@h/1", [:], "tcp://, rtsp://"), ("", [:], "tcp://"),
        ] as [(String, [String: String], String)])
    func refusesWhatIsNoAddress(url: String, options: [String: String], reason: String) {
        let error = #expect(throws: OptionError.self) { try entry.make(request(url, options)) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("secret") == false)
    }

    @Test func theFormatIsAnOption() throws {
        func format(_ url: String, _ options: [String: String]) throws -> StreamCapturer.Format? {
            try StreamCapturer.Configuration(request(url, options), schemes: entry.schemes).format
        }
        #expect(try format("tcp://h:1", [:]) == nil)
        #expect(try format("tcp://h:1", ["stream-format": "mpegts"]) == .mpegTS)
        #expect(try format("tcp://h:1", ["stream-format": "H264"]) == .annexB)
    }

    @Test func withoutADemuxerThereIsTCPOnly() {
        let entry = CapturerEntry.stream(decoders: [])
        #expect(entry.schemes == ["tcp"])
        #expect(throws: OptionError.self) { try entry.make(request("rtsp://camera/1")) }
    }
}
