public import MediaContainers
public import MediaPublishing
public import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file or a network peer in any container and protocol that FFmpeg writes.
///
/// ```swift
/// try publisher.add(FFmpegOutput("film.mp4"))
/// try publisher.add(FFmpegOutput("rtmp://host/live/key"))
/// ```
/// Safe to use from any thread.
public final class FFmpegOutput: MediaOutput {
    private let url: String
    private let configuration: FFmpegMuxer.Configuration
    private let target: OutputTarget
    private let state = Locked(State())

    private struct State {
        var muxer: FFmpegMuxer?
        /// Whether nothing was in the file.
        var isRemoved = false
        /// For the muxer; nil while none was set, or where there is none.
        var writeTimeout: Duration?
        var warn: @Sendable (String) -> Void = { _ in }
        var isStopRequested: @Sendable () -> Bool = { false }
    }

    /// An output that opens nothing yet.
    ///
    /// - Parameters:
    ///   - url: a path, `-` for standard output, or a URL.
    ///   - configuration: how to write.
    /// - Throws: `MediaFileError` with the code `formatUnsupported` for an unknown container or protocol.
    public init(
        _ url: String, configuration: FFmpegMuxer.Configuration = FFmpegMuxer.Configuration()
    ) throws(MediaFileError) {
        self.url = url
        self.configuration = configuration
        target = try OutputTarget(url, format: configuration.format)
    }

    /// The path, or the URL without its secrets.
    public var name: String { target.name == "-" ? "standard output" : target.name }

    /// FFmpeg's name of the container.
    public var kind: String { target.containerName.split(separator: ",").first.map(String.init) ?? "" }

    /// H.264 first, which all take; VP8 and JPEG where the container has them. Nothing for files of sound.
    public var feed: OutputContext.Feed {
        guard !FFmpegOutput.soundOnly.contains(target.containerName) else { return .noVideo }
        let codecs: [Codec] =
            switch target.containerName {
            case "matroska": [.h264, .vp8, .jpeg]
            case "webm": [.vp8]
            case "rtsp", "rtp": [.h264, .vp8]
            case "mov", "avi": [.h264, .jpeg]
            default: [.h264]
            }
        // These have a field for it.
        let statesAspect = ["matroska", "webm", "mp4", "mov"].contains(target.containerName)
        var feed = OutputContext.Feed.PacketFeed(
            codecs: codecs, purpose: target.kind == .network ? .live : .file,
            pixelAspectCodecs: statesAspect ? codecs : [.h264])
        feed.statesOrientation = target.isFragmented
        // A listener's caller begins in mid-stream, and a receiver of datagrams.
        let isServer = ["rtmp", "rtmps", "rtsp", "rtsps", "srt"].contains(OutputTarget.scheme(of: url))
        feed.takesKeyFramesAsTheyCome = isServer && !target.isListener(configuration.options)
        // A segment of a playlist may not become longer than its target duration while a camera is away.
        if target.kind == .files { feed.minimumFrameRate = 2 }
        return .packets(feed)
    }

    /// Containers of sound alone: M4A, and AAC with ADTS headers.
    private static let soundOnly: Set<String> = ["ipod", "adts"]

    /// AAC where players and servers expect it, Opus elsewhere, as far as the container has them.
    public var audioFeed: OutputContext.AudioFeed? {
        switch target.containerName {
        case "mp4", "mpegts": .packets([.aac, .opus])
        case "mov", "hls", "flv", "ipod", "adts": .packets([.aac])
        case "matroska", "rtsp": .packets([.opus, .aac])
        case "webm": .packets([.opus])
        default: nil
        }
    }

    /// By what the container carries, which is more than this program encodes.
    public func problem(passing tracks: [TrackDescription]) -> String? {
        do throws(MediaFileError) {
            try ContainerSupport.check(tracks, target)
            return nil
        } catch {
            return error.message
        }
    }

    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        let name = name
        var configuration = configuration
        if context.retriesPeers { configuration.retriesFirstConnection = true }
        let hasBeenLive = Locked(false)
        let muxer = try FFmpegMuxer(
            url, configuration,
            onStateChange: { state in
                if state == .live { hasBeenLive.withLock { $0 = true } }
                guard case .reconnecting(let error, attempt: 1) = state else { return }
                context.warn(OutputContext.warning(name, error.message, isLost: hasBeenLive.withLock { $0 }))
            }, isWanted: { !context.isStopRequested() })
        state.withLock { state in
            state.muxer = muxer
            state.warn = context.warn
            state.isStopRequested = context.isStopRequested
            // Set before there was a muxer.
            if let timeout = state.writeTimeout { muxer.setWriteTimeout(timeout) }
        }
        return .sink(muxer)
    }

    public func close(at end: MediaTime?) {
        let (muxer, warn) = state.withLock { ($0.muxer, $0.warn) }
        // The recording is whole, only in fragments.
        if let failure = muxer?.indexFailure { warn("\(failure)") }
        if muxer?.removeEmptyFile() == true { state.withLock { $0.isRemoved = true } }
    }

    public func discard() {
        let muxer = state.withLock { $0.muxer }
        muxer?.cancel()
        try? muxer?.finish()
        muxer?.removeFile()
    }

    public func setWriteTimeout(_ timeout: Duration?) {
        state.withLock { state in
            state.writeTimeout = timeout
            state.muxer?.setWriteTimeout(timeout)
            if state.isStopRequested() { state.muxer?.hurry() }
        }
    }

    public var limitsOwnWaits: Bool { state.withLock { $0.muxer }?.waitsForReader ?? true }

    public var path: String? { target.kind == .network ? nil : target.url }

    /// The file; of a playlist its segments too, as far as there are files of their names.
    public var paths: [String] { path.map { [$0] + target.existingSegments } ?? [] }

    public var outputStatistics: OutputStatistics {
        let (muxer, isRemoved) = state.withLock { ($0.muxer, $0.isRemoved) }
        let counts = muxer?.statistics ?? FFmpegMuxer.Statistics()
        var result = OutputStatistics(bytes: isRemoved ? 0 : muxer?.bytesWritten ?? 0)
        let shown = printable(name, limit: 200)
        result.summary =
            result.bytes == 0
            ? "\(shown): nothing was written." : "\(shown): \(scaled(Double(result.bytes), "B")), \(kind)."
        if target.kind == .network {
            let isListener = target.isListener(configuration.options)
            result.status = muxer.map { FFmpegOutput.text($0.state, isListener: isListener) }
            if isListener { result.announcement = "\(shown) waits for a caller." }
            if counts.packetsDropped > 0 || counts.reconnections > 0 {
                result.summary +=
                    " Packets dropped: \(counts.packetsDropped); reconnects: \(counts.reconnections)."
            }
        } else if result.bytes > 0, target.url != "-" {
            result.summary += " Play it with: ffplay \(shellQuoted(target.url))"
        }
        result.details = [
            ("packets", .count(counts.packets)), ("packetsDropped", .count(counts.packetsDropped)),
            ("reconnections", .count(counts.reconnections)),
        ]
        return result
    }

    private static func text(_ state: FFmpegMuxer.State, isListener: Bool) -> String {
        switch state {
        case .connecting where isListener: "waiting for a caller"
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "live"
        case .reconnecting: "reconnecting"
        case .ended: "ended"
        }
    }
}

extension OutputEntry {
    /// The files and protocols of FFmpeg that live video needs.
    public static var ffmpeg: [OutputEntry] {
        [
            file("mp4", "MP4 in fragments, with an index at a clean end", ["mp4", "m4v"]),
            file("mkv", "Matroska", ["mkv"], container: "matroska"),
            file("ts", "MPEG-TS", ["ts", "m2ts"], container: "mpegts"),
            file("mov", "QuickTime", ["mov"]),
            hls,
            file("m4a", "AAC in MP4, sound alone", ["m4a"], container: "ipod"),
            network("rtmp", "RTMP, to a server such as nginx or a live service", ["rtmp", "rtmps"]),
            network("srt", "SRT, to a listener, or with ?mode=listener to a caller", ["srt"]),
            network("rtsp", "RTSP, to a server that records", ["rtsp"]),
            network("udp", "MPEG-TS in UDP packets", ["udp"]),
        ]
    }

    private static func file(
        _ name: String, _ summary: String, _ extensions: [String], container: String? = nil
    ) -> OutputEntry {
        OutputEntry(
            name: name, summary: summary, extensions: extensions,
            make: { request throws(OptionError) in
                try make(request, .init(format: container ?? name, overwrites: request.overwrites))
            })
    }

    private static let hls = OutputEntry(
        name: "hls", summary: "HLS: a playlist with its segments", extensions: ["m3u8"],
        options: [
            OptionDescription("keep", .text("N"), "keeps the last N segments of a playlist", default: "all")
        ],
        make: { request throws(OptionError) in
            // Players need three.
            let kept = try request.options.count("keep", in: 3...UInt64(Int32.max)).map { Int($0) }
            return try make(request, .init(format: "hls", overwrites: request.overwrites, keptSegments: kept))
        })

    private static func network(_ name: String, _ summary: String, _ schemes: [String]) -> OutputEntry {
        OutputEntry(
            name: name, summary: summary, schemes: schemes,
            make: { request throws(OptionError) in try make(request, .init()) })
    }

    private static func make(
        _ request: OutputEntry.Request, _ configuration: FFmpegMuxer.Configuration
    ) throws(OptionError) -> FFmpegOutput {
        do {
            return try FFmpegOutput(request.target, configuration: configuration)
        } catch {
            // The URL may contain a password.
            throw OptionError("output", nil, "\(error)")
        }
    }
}
