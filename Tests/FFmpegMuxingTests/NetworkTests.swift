import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

@testable import FFmpegMuxing

/// Network peers: ffmpeg, srt-live-transmit, nginx, and sockets of the test's own.
@Suite(.serialized) struct NetworkTests {
    private let folder = TemporaryFolder()
    private let states = StateRecord()

    private func makeMuxer(
        _ url: String, _ configuration: FFmpegMuxer.Configuration = FFmpegMuxer.Configuration()
    ) throws -> FFmpegMuxer {
        try FFmpegMuxer(url, configuration) { [states] in states.add($0) }
    }

    /// Whole packets of a transport stream in each datagram, and all of them.
    @Test func udp() throws {
        let clip = try Clip.h264.get()
        let socket = LoopbackSocket(SOCK_DGRAM)
        let muxer = try makeMuxer("udp://127.0.0.1:\(socket.port)")
        try muxer.begin([clip.track])
        var stream: [UInt8] = []
        for (index, packet) in clip.packets.enumerated() {
            try muxer.write(packet)
            // As the socket's memory is limited, it is emptied when the packet was sent.
            while muxer.statistics.packets <= index { usleep(1000) }
            while let datagram = socket.receive(0) {
                #expect(datagram.count % 188 == 0 && datagram.count <= 1316)
                stream += datagram
            }
        }
        try muxer.finish()
        while let datagram = socket.receive(200) { stream += datagram }
        try folder.write(stream, to: "a.ts")
        #expect(try countPackets(folder.file("a.ts")) == 120)
        #expect(states.all == [.connecting, .live, .ended(nil)])
    }

    /// What arrives by each protocol is what was sent.
    @Test(arguments: [
        ("rtmp", "flv", "-f flv -listen 1 -i URL", "rtmp://127.0.0.1:PORT/live/key"),
        ("rtsp", "mkv", "-rtsp_flags listen -i URL", "rtsp://127.0.0.1:PORT/live.sdp"),
        ("srt", "ts", "-i URL?mode=listener", "srt://127.0.0.1:PORT"),
        ("tcp", "mkv", "-i URL?listen=1", "tcp://127.0.0.1:PORT"),
    ])
    func peers(_ name: String, _ ending: String, _ input: String, _ address: String) throws {
        let clip = try Clip.h264.get()
        let port = try freePort(name == "srt" ? SOCK_DGRAM : SOCK_STREAM)
        let url = address.replacing("PORT", with: "\(port)")
        let path = folder.file("a.\(ending)")
        let peer = try PeerProgram(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-y"]
                + input.split(separator: " ").map { String($0).replacing("URL", with: url) } + ["-c", "copy", path])
        let configuration = FFmpegMuxer.Configuration(
            options: name == "rtsp" ? ["rtsp_transport": "tcp"] : [:], maximumDelay: .seconds(60))
        let muxer = try connect(url, port, configuration, clip)
        try send(clip, to: muxer)
        try muxer.finish()
        #expect(peer.waitForEnd(), "\(name)")
        let count = try countPackets(path)
        // ffmpeg drops what it has looked at before it knew the stream of SRT and RTSP.
        #expect(name == "srt" || name == "rtsp" ? count > 60 : count == 120, "\(name): \(count)")
        #expect(muxer.statistics.packets == 120 && muxer.statistics.packetsDropped == 0)
        #expect(states.all.suffix(2) == [.live, .ended(nil)])
    }

    static let hasNginx = access("/usr/lib/nginx/modules/ngx_rtmp_module.so", R_OK) == 0

    /// A server that records what is published to it.
    @Test(.enabled(if: hasNginx)) func nginx() throws {
        let clip = try Clip.h264.get()
        let port = try freePort(SOCK_STREAM)
        let configuration = """
            load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;
            user root; daemon off; master_process off; pid \(folder.path)/pid; error_log \(folder.path)/log;
            events {}
            rtmp { server { listen 127.0.0.1:\(port); application live {
                live on; record all; record_path \(folder.path); record_suffix .flv; } } }
            """
        try folder.write(Array(configuration.utf8), to: "conf")
        let peer = try PeerProgram("nginx", ["-c", folder.file("conf"), "-p", folder.path])
        let muxer = try connect(
            "rtmp://127.0.0.1:\(port)/live/key", port, FFmpegMuxer.Configuration(maximumDelay: .seconds(60)), clip)
        try send(clip, to: muxer)
        try muxer.finish()
        let end = MonotonicClock().now.advanced(by: .seconds(30))
        while try countPackets(folder.file("key.flv")) < 120, MonotonicClock().now < end { usleep(100_000) }
        #expect(try countPackets(folder.file("key.flv")) == 120)
        // Other signals may be blocked, as they are in the threads of the tests.
        peer.end(SIGKILL)
    }

    /// A transport stream by SRT, as it was sent.
    @Test(.enabled(if: access("/usr/bin/srt-live-transmit", X_OK) == 0)) func srtLiveTransmit() throws {
        let clip = try Clip.h264.get()
        let port = try freePort(SOCK_DGRAM)
        let command =
            "exec srt-live-transmit -q -a no 'srt://127.0.0.1:\(port)?mode=listener' file://con > \(folder.file("a.ts"))"
        let peer = try PeerProgram("sh", ["-c", command])
        let muxer = try connect(
            "srt://127.0.0.1:\(port)", port, FFmpegMuxer.Configuration(maximumDelay: .seconds(60)), clip)
        try send(clip, to: muxer)
        try muxer.finish()
        #expect(peer.waitForEnd())
        #expect(try countPackets(folder.file("a.ts")) == 120)
    }

    /// A peer that is killed and comes back gets a stream that begins with a key frame.
    @Test(arguments: ["rtmp", "tcp"]) func reconnecting(_ name: String) throws {
        let clip = try Clip.h264.get()
        let port = try freePort(SOCK_STREAM)
        let url = "\(name)://127.0.0.1:\(port)" + (name == "rtmp" ? "/live/key" : "")
        let listen = name == "rtmp" ? ["-f", "flv", "-listen", "1", "-i", url] : ["-i", url + "?listen=1"]
        func makePeer(_ file: String) throws -> PeerProgram {
            try PeerProgram("ffmpeg", ["-nostdin", "-v", "error", "-y"] + listen + ["-c", "copy", folder.file(file)])
        }
        let first = try makePeer("first.mkv")
        let requests = Locked(0)
        let muxer = try connect(url, port, FFmpegMuxer.Configuration(format: name == "tcp" ? "matroska" : nil), clip)
        muxer.connectFeedback(
            PacketFeedback(onKeyFrame: { requests.withLock { $0 += 1 } }, onBitrate: { _ in }))
        // Without an end, as a camera gives.
        let isOver = Locked(false)
        let thread = try CaptureThread(name: "sender") {
            var index = 1
            while !isOver.withLock({ $0 }) {
                var packet = clip.packets[index % 120]
                packet.timestamp = clip.packets[0].timestamp.advanced(by: Clip.rate.time(ofFrame: Int64(index)))
                try? muxer.write(packet)
                usleep(10_000)
                index += 1
            }
        }
        while muxer.statistics.packets < 60 { usleep(10_000) }
        first.end(SIGKILL)
        #expect(states.wait { if case .reconnecting = $0 { true } else { false } })
        let second = try makePeer("second.mkv")
        #expect(states.wait(2) { $0 == .live })
        let sent = muxer.statistics.packets
        while muxer.statistics.packets < sent + 150 { usleep(10_000) }
        isOver.withLock { $0 = true }
        thread.join()
        try muxer.finish()
        #expect(second.waitForEnd())
        #expect(muxer.statistics.reconnections == 1)
        #expect(muxer.statistics.packetsDropped > 0)
        #expect(requests.withLock { $0 } > 0)
        let rows = try probe(folder.file("second.mkv"), "flags")
        #expect(rows.count > 100)
        #expect(rows.first?.first?.hasPrefix("K") == true)
    }

    // MARK: Failures

    @Test func aRefusedConnectionEndsTheOutput() throws {
        let clip = try Clip.h264.get()
        for (scheme, code) in [
            ("rtmp", MediaFileError.Code.unreachable), ("tcp", .unreachable), ("rtsp", .unreachable),
        ] {
            let port = try freePort(SOCK_STREAM)
            let record = StateRecord()
            let key = scheme == "rtmp" ? "secret2" : "camera"
            let muxer = try FFmpegMuxer("\(scheme)://bob:secret1@127.0.0.1:\(port)/live/\(key)?token=secret3") {
                record.add($0)
            }
            #expect(!muxer.name.contains("secret"))
            try muxer.begin([clip.track])
            // The refusal may have come already.
            _ = try? muxer.write(clip.packets[0])
            #expect(record.wait { if case .ended = $0 { true } else { false } })
            let error = mediaFileError { try muxer.write(clip.packets[1]) }
            #expect(error?.code == code, "\(scheme): \(String(describing: error))")
            #expect(error.map { !"\($0)".contains("secret") } == true, "\(String(describing: error))")
            #expect(mediaFileError { try muxer.finish() } == error)
        }
    }

    /// A peer that accepts and never answers is given up after the timeout.
    @Test(arguments: ["rtmp", "rtsp"]) func aSilentPeerIsGivenUp(_ scheme: String) throws {
        let clip = try Clip.h264.get()
        let socket = LoopbackSocket(SOCK_STREAM, listens: true)
        let configuration = FFmpegMuxer.Configuration(
            connectTimeout: .milliseconds(300), writeTimeout: .milliseconds(300))
        let muxer = try makeMuxer("\(scheme)://127.0.0.1:\(socket.port)/live/key", configuration)
        try muxer.begin([clip.track])
        try muxer.write(clip.packets[0])
        #expect(states.wait { if case .ended = $0 { true } else { false } })
        #expect(mediaFileError { try muxer.finish() }?.code == .stalled)
    }

    /// A peer that stops reading: packets are dropped at once, and the connection is given up after the timeout.
    @Test func aPeerThatTakesNothingDelaysNobody() throws {
        let clip = try Clip.h264.get()
        let socket = LoopbackSocket(SOCK_STREAM, listens: true)
        let configuration = FFmpegMuxer.Configuration(
            writeTimeout: .seconds(3), reconnectTimeout: .zero, maximumDelay: .milliseconds(500))
        let muxer = try makeMuxer("tcp://127.0.0.1:\(socket.port)", configuration)
        try muxer.begin([clip.track])
        var error: MediaFileError?
        var longest = Duration.zero
        for index in 0..<1_000_000 where error == nil {
            var packet = clip.packets[index % 120]
            packet.timestamp = clip.packets[0].timestamp.advanced(by: Clip.rate.time(ofFrame: Int64(index)))
            let begin = MonotonicClock().now
            error = mediaFileError { try muxer.write(packet) }
            longest = max(longest, MonotonicClock().now - begin)
            usleep(100)
        }
        #expect(error?.code == .stalled)
        #expect(longest < .seconds(2))
        #expect(muxer.statistics.packetsDropped > 0)
        #expect(mediaFileError { try muxer.finish() } == error)
    }

    /// A wait for a peer ends when it is cancelled, long before its timeout.
    @Test func cancelling() throws {
        let clip = try Clip.h264.get()
        let socket = LoopbackSocket(SOCK_STREAM, listens: true)
        let configuration = FFmpegMuxer.Configuration(connectTimeout: .seconds(600), writeTimeout: .seconds(600))
        let muxer = try makeMuxer("rtmp://127.0.0.1:\(socket.port)/live/key", configuration)
        try muxer.begin([clip.track])
        try muxer.write(clip.packets[0])
        #expect(states.wait { $0 == .connecting })
        muxer.cancel()
        #expect(states.wait { if case .ended = $0 { true } else { false } })
        #expect(mediaFileError { try muxer.finish() }?.code == .interrupted)
    }

    /// An end while reconnecting does not wait, and says what was lost.
    @Test func finishingWhileReconnecting() throws {
        let clip = try Clip.h264.get()
        let port = try freePort(SOCK_STREAM)
        let url = "tcp://127.0.0.1:\(port)"
        let peer = try PeerProgram("ffmpeg", ["-nostdin", "-v", "error", "-i", url + "?listen=1", "-f", "null", "-"])
        let muxer = try connect(url, port, FFmpegMuxer.Configuration(connectTimeout: .seconds(600)), clip)
        peer.end(SIGKILL)
        for packet in clip.packets.dropFirst() {
            try muxer.write(packet)
            usleep(5000)
        }
        #expect(states.wait { if case .reconnecting = $0 { true } else { false } })
        #expect(mediaFileError { try muxer.finish() } != nil)
    }

    /// A listener waits as long as it is used, serves one caller after the other, and none of this is a failure.
    @Test func aListenerWaitsForItsCallers() throws {
        let clip = try Clip.h264.get()
        let port = try freePort(SOCK_DGRAM)
        let url = "srt://127.0.0.1:\(port)"
        let muxer = try makeMuxer(url + "?mode=listener", .init(connectTimeout: .milliseconds(1)))
        try muxer.begin([clip.track])
        let isOver = Locked(false)
        let thread = try CaptureThread(name: "sender") {
            var index = 0
            while !isOver.withLock({ $0 }) {
                var packet = clip.packets[index % 120]
                packet.timestamp = clip.packets[0].timestamp.advanced(by: Clip.rate.time(ofFrame: Int64(index)))
                try? muxer.write(packet)
                usleep(10_000)
                index += 1
            }
        }
        for name in ["a.ts", "b.ts"] {
            let caller = try PeerProgram(
                "ffmpeg",
                ["-nostdin", "-v", "error", "-i", url, "-c", "copy", "-frames:v", "20", folder.file(name)])
            #expect(caller.waitForEnd())
            #expect(try countPackets(folder.file(name)) == 20)
        }
        isOver.withLock { $0 = true }
        thread.join()
        try muxer.finish()
        #expect(states.all.last == .ended(nil))
    }

    @Test func aListenerWithoutACallerEndsAtOnce() throws {
        let clip = try Clip.h264.get()
        let port = try freePort(SOCK_DGRAM)
        let muxer = try makeMuxer("srt://127.0.0.1:\(port)?mode=listener")
        try muxer.begin([clip.track])
        try muxer.write(clip.packets[0])
        let time = Stopwatch()
        try muxer.finish()
        #expect(time.time < .seconds(1))
        #expect(states.all == [.connecting, .ended(nil)])
    }

    /// A server that is started later, where the first connection is tried again.
    @Test func aServerThatComesLater() throws {
        let clip = try Clip.h264.get()
        let port = try freePort(SOCK_STREAM)
        let url = "tcp://127.0.0.1:\(port)"
        var configuration = FFmpegMuxer.Configuration(format: "matroska", maximumDelay: .seconds(60))
        configuration.retriesFirstConnection = true
        let muxer = try makeMuxer(url, configuration)
        try muxer.begin([clip.track])
        try muxer.write(clip.packets[0])
        #expect(states.wait { if case .reconnecting = $0 { true } else { false } })
        let peer = try PeerProgram(
            "ffmpeg", ["-nostdin", "-v", "error", "-i", url + "?listen=1", "-c", "copy", folder.file("a.mkv")])
        var index = 0
        #expect(
            eventually {
                var packet = clip.packets[index % 120]
                packet.timestamp = clip.packets[0].timestamp.advanced(by: Clip.rate.time(ofFrame: Int64(index)))
                try? muxer.write(packet)
                index += 1
                return muxer.statistics.packets > 10
            })
        try muxer.finish()
        #expect(peer.waitForEnd())
        #expect(muxer.statistics.reconnections == 0)
    }

    @Test(arguments: ["rtmp", "rtsp", "tcp"]) func aServerThatNeverComesIsAFailure(_ scheme: String) throws {
        let clip = try Clip.h264.get()
        let port = try freePort(SOCK_STREAM)
        var configuration = FFmpegMuxer.Configuration()
        configuration.retriesFirstConnection = true
        let muxer = try makeMuxer("\(scheme)://127.0.0.1:\(port)/live/key", configuration)
        try muxer.begin([clip.track])
        try muxer.write(clip.packets[0])
        #expect(states.wait { if case .reconnecting = $0 { true } else { false } })
        #expect(mediaFileError { try muxer.finish() }?.code == .unreachable)
    }

    /// A user who waits for the end does not wait for a peer that is silent.
    @Test(arguments: ["rtmp", "rtsp"]) func aHurriedEnd(_ scheme: String) throws {
        let clip = try Clip.h264.get()
        let socket = LoopbackSocket(SOCK_STREAM, listens: true)
        let muxer = try makeMuxer("\(scheme)://127.0.0.1:\(socket.port)/live/key")
        try muxer.begin([clip.track])
        try muxer.write(clip.packets[0])
        muxer.hurry()
        let time = Stopwatch()
        #expect(mediaFileError { try muxer.finish() }?.code == .stalled)
        #expect(time.time < .seconds(1))
    }

    // MARK: -

    /// A muxer whose first packet has arrived at a peer that may listen only later.
    private func connect(
        _ url: String, _ port: Int, _ configuration: FFmpegMuxer.Configuration, _ clip: Clip
    ) throws -> FFmpegMuxer {
        // An attempt that comes too early may be half a connection by the time the peer listens, and the only one it takes.
        let type = url.hasPrefix("srt:") ? SOCK_DGRAM : SOCK_STREAM
        #expect(eventually { (try? isListening(at: port, type)) == true }, "the peer of \(url) does not listen")
        let end = MonotonicClock().now.advanced(by: .seconds(60))
        while true {
            let record = StateRecord()
            let muxer = try FFmpegMuxer(url, configuration) { [states] in
                record.add($0)
                states.add($0)
            }
            try muxer.begin([clip.track])
            // The refusal may have come already.
            _ = try? muxer.write(clip.packets[0])
            _ = record.wait { if case .connecting = $0 { false } else { true } }
            if muxer.state == .live { return muxer }
            _ = try? muxer.finish()
            try #require(MonotonicClock().now < end, "the peer of \(url) does not listen: \(record.all)")
            usleep(100_000)
        }
    }

    /// All but the first packet, at about twice their speed.
    private func send(_ clip: Clip, to muxer: FFmpegMuxer) throws {
        for packet in clip.packets.dropFirst() {
            try muxer.write(packet)
            usleep(15_000)
        }
    }
}
