public import MediaPublishing
import VideoCapturing

extension IcecastOutput: MediaOutput {
    /// The address without user name, password and options.
    public var name: String { hub.address.displayName }

    /// `icecast`.
    public var kind: String { "icecast" }

    /// Packets of VP8; nothing where the address says `audio`.
    public var feed: OutputContext.Feed {
        hub.address.isAudioOnly ? .noVideo : .packets(.init(codecs: [.vp8], purpose: .live, pixelAspectCodecs: [.vp8]))
    }

    /// Packets of Opus.
    public var audioFeed: OutputContext.AudioFeed? { .packets([.opus]) }

    /// Connects, until a stop is requested; where peers are tried again, the sending thread does that.
    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        hub.values.withLock { $0.isStopRequested = context.isStopRequested }
        let name = name
        let hasBeenLive = Locked(false)
        setStateHandler { state in
            switch state {
            case .live: hasBeenLive.withLock { $0 = true }
            case .reconnecting(let error, attempt: 1):
                context.warn(OutputContext.warning(name, error.message, isLost: hasBeenLive.withLock { $0 }))
            case .ended(let error?) where !context.isStopRequested(): context.fail(error)
            default: break
            }
        }
        if let other = hub.address.otherFormat {
            context.warn("\(name) gets WebM, which players do not expect of \(other); name the mount .webm.")
        }
        endOpeningIfStopped()
        if !context.retriesPeers { try open(hasVideo: !hub.address.isAudioOnly) }
        return .sink(self)
    }

    /// Ends the wait for the server when the run is to end.
    private func endOpeningIfStopped() {
        let isStopRequested = hub.values.withLock { $0.thread == nil ? $0.isStopRequested : nil }
        if isStopRequested?() ?? false { hub.stop.raise() }
    }

    public func discard() {
        hub.cancel()
        try? finish()
    }

    /// Writing never waits; a stop that was requested ends the wait for the first connection.
    public func setWriteTimeout(_ timeout: Duration?) { endOpeningIfStopped() }

    public var limitsOwnWaits: Bool { true }

    public var outputStatistics: OutputStatistics {
        let counts = statistics
        var result = OutputStatistics(bytes: Int64(clamping: counts.bytes))
        result.status = state == .live ? nil : text(state)
        result.summary = "Sent \(scaled(Double(counts.bytes), "B")) to \(name)."
        if counts.packetsDropped > 0 || counts.reconnections > 0 {
            result.summary +=
                " Packets dropped: \(counts.packetsDropped); reconnects: \(counts.reconnections)."
        }
        result.announcement = "Listen with: ffplay \(hub.address.listeningURL)"
        result.details = [
            ("url", .string(name)), ("state", .string(text(state))), ("packets", .count(counts.packets)),
            ("packetsDropped", .count(counts.packetsDropped)), ("reconnections", .count(counts.reconnections)),
        ]
        return result
    }

    private func text(_ state: State) -> String {
        switch state {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "live"
        case .reconnecting: "reconnecting"
        case .ended: "ended"
        }
    }
}

extension OutputEntry {
    /// A mount of an Icecast server, as `icecast://source:PASSWORD@HOST:PORT/MOUNT`.
    public static let icecast: OutputEntry = {
        var entry = OutputEntry(
            name: "icecast", summary: "WebM to Icecast: ?name=&description=&public=1&audio", schemes: ["icecast"],
            make: { request throws(OptionError) in
                do throws(CaptureError) {
                    return try IcecastOutput(request.target)
                } catch {
                    // The address has a password.
                    throw OptionError("output", nil, error.message)
                }
            })
        entry.refusedSchemes = ["icecasts"]
        return entry
    }()
}
