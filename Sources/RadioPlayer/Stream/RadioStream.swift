import AudioCapturing
import HTTPTransport
import MP3Codec

/// The frames of a radio or of a file on a server: connections, playlists, metadata, and the search for frames, with
/// watchdogs and new connections. Confined to one thread; ``work()`` never waits.
package final class RadioStream {
    /// Where the stream is.
    enum Phase {
        case idle
        /// A request is under way, or the body is coming.
        case active
        /// The next request is made at this time.
        case waiting(MediaTime)
        /// All of a file has come.
        case ended
        case failed(RadioError)
    }

    /// What the body of a response is.
    enum Body {
        case undecided, sound
        case playlist(Playlist.Kind)
        case refused(RadioError)
    }

    /// A title and where it begins.
    package struct Title: Sendable {
        /// The offset of the first byte of sound to which it belongs, as the positions of frames count.
        package var position: Int64
        package var metadata: ICYMetadata
    }

    let configuration: RadioConfiguration
    let clock: any CaptureClock
    package let transport: any RadioTransport
    package let parser: MP3FrameParser

    package internal(set) var statistics = RadioStatistics()
    package internal(set) var information: RadioInformation?
    /// Titles that were not taken yet, in order.
    package var titles: [Title] = []

    var phase = Phase.idle
    var body = Body.undecided
    var demuxer = ICYDemuxer(interval: nil)
    var playlistBytes: [UInt8] = []
    /// The addresses to try in turn; nil before the stream is opened.
    var candidates: RadioCandidates?
    /// Whether no sound has come since the playlist was read: it names what the server would name now.
    var isPlaylistFresh = false
    /// Playlists that led to each other.
    var playlistDepth = 0
    /// Off once a server has stated a wrong interval.
    var wantsMetadata = true
    /// The offset in the file or stream behind the last byte of sound that was received.
    var received: Int64 = 0
    /// The length of a file; nil for a live stream.
    var fileLength: Int64?
    /// Bytes of the body to leave out, where a server does not know ranges.
    var bytesToDrop: Int64 = 0
    /// Whether the server states what stations do, or has sent as they do.
    var isStation = false
    /// Whether a length that was stated was not true.
    var hasUntrueLength = false
    /// Whether the server states the name of a file.
    var hasFileName = false
    /// How fast the body of this connection comes.
    var pace = StreamPace()
    /// The first bytes of sound of this connection.
    var beginning: [UInt8] = []
    /// Whether these were searched for another codec.
    var isFormatProbed = false
    /// The bytes of the connection before, when that had ended in good order: their number, and the first of them.
    var lastWhole: (count: Int, beginning: [UInt8])?
    /// Attempts in a row that gave no sound.
    var attempts = 0
    /// Losses in a row of connections that did not last: the delay before the next attempt.
    var shortConnections = 0
    /// Whether there ever was sound, and whether this connection gave some.
    var hasGivenSound = false
    var connectionGaveSound = false
    /// Where the sound of this connection begins: frames before it are of the one before, and wait to be played.
    var connectionStart: Int64 = 0
    /// The bytes of sound that came with this connection.
    var connectionBytes = 0
    /// When the request was made.
    var connectionBegin = MediaTime.zero
    /// When something last came, or the request was made.
    var lastData = MediaTime.zero
    var garbageAtBegin: UInt64 = 0
    var tagBytesAtBegin: UInt64 = 0

    /// - Parameters:
    ///   - configuration: how the radio is received.
    ///   - clock: the clock of the watchdogs.
    ///   - transport: how it is received.
    package init(_ configuration: RadioConfiguration, clock: any CaptureClock, transport: any RadioTransport) {
        self.configuration = configuration
        self.clock = clock
        self.transport = transport
        parser = MP3FrameParser(capacity: configuration.compressedLimit)
        transport.onBody = { [unowned self] bytes in takeBody(bytes) }
        transport.bodyRoom = { [unowned self] in
            if case .playlist = body { .max } else { parser.room + Int(clamping: bytesToDrop) }
        }
    }

    /// Whether it never ends: a station, and not a file on a server.
    package var isLive: Bool { fileLength == nil }

    /// Whether all of a file has come.
    package var hasEnded: Bool { if case .ended = phase { true } else { false } }

    /// Why no further attempt is made; nil while it goes on.
    package var failure: RadioError? { if case .failed(let error) = phase { error } else { nil } }

    /// Whether a connection is there that has given sound.
    package var isDelivering: Bool { if case .active = phase { connectionGaveSound } else { false } }

    /// When ``work()`` has something to do at the latest, if nothing comes.
    package var deadline: MediaTime? {
        switch phase {
        case .waiting(let time): time
        case .active where !transport.isBodyHeld: lastData.advanced(by: configuration.noDataTimeout)
        default: nil
        }
    }

    /// Begins with an address, or with the playlist in a file.
    ///
    /// - Throws: `invalidConfiguration` for an address that cannot be read, and the errors of a playlist.
    package func open(_ url: String) throws(RadioError) {
        let entries =
            Playlist.isPath(url) ? try Playlist(ofFile: url).addresses : [try RadioStream.address(url)]
        candidates = RadioCandidates(entries, login: configuration.credential)
        connect()
    }

    /// Ends it. It can be opened again.
    package func close() {
        transport.cancel()
        phase = .idle
    }

    /// Takes the received bytes, and handles the connection.
    package func work() {
        switch phase {
        case .idle, .ended, .failed: return
        case .waiting(let time):
            guard clock.now >= time else { return }
            connect()
        case .active: break
        }
        guard case .active = phase else { return }
        pace.update(at: clock.now, isHeld: transport.isBodyHeld)
        if transport.isBodyHeld {
            // What the server could not send is no fault of it.
            lastData = clock.now
            if parser.room >= RadioStream.resumeRoom { transport.resumeBody() }
        }
        transport.work()
        statistics.bytesReceived = transport.bytesReceived
        if case .refused(let error) = body { return conclude(refusal: error) }
        if let end = transport.end { return conclude(end) }
        if !demuxer.isTrusted, wantsMetadata, isLive {
            // The true interval is not known: without metadata each of its blocks would be a click.
            wantsMetadata = false
            return connect()
        }
        if clock.now >= lastData.advanced(by: configuration.noDataTimeout), !transport.isBodyHeld {
            let seconds = configuration.noDataTimeout.seconds
            reconnect(after: error(.networkStalled, "Nothing has come for \(Int(seconds)) s; check the network."))
        }
    }

    /// The room at which a body that was held goes on: not for each frame.
    private static let resumeRoom = 48 * 1024

    /// The next frame; nil when none is whole yet.
    package func nextFrame() -> MP3FrameParser.Frame? {
        guard let frame = parser.next() else {
            checkForSound()
            return nil
        }
        statistics.framesDecoded &+= 1
        if !connectionGaveSound, case .active = phase, frame.position >= connectionStart {
            connectionGaveSound = true
            hasGivenSound = true
            isPlaylistFresh = false
            attempts = 0
            statistics.connections &+= 1
        }
        return frame
    }

    /// Updates the statistics of the parser.
    package func updateStatistics() {
        statistics.garbageBytes = parser.findings.garbageBytes
        statistics.damages = parser.findings.resynchronizations
    }

    /// Gives the connection up for a new one, since it does not give enough.
    package func renew(_ reason: RadioError) {
        guard case .active = phase else { return }
        reconnect(after: reason)
    }

    /// Drops the buffered bytes, and makes a new connection.
    package func renewAtLiveEdge() {
        parser.reset(position: parser.endPosition)
        titles = []
        switch phase {
        case .active, .waiting: connect()
        default: break
        }
    }

    /// Goes on at another offset of a file.
    package func seek(to offset: Int64) {
        guard let fileLength else { return }
        received = min(max(0, offset), max(0, fileLength - 1))
        parser.reset(position: received)
        titles = []
        connect()
    }

    /// Much came, and no frame is in it: the type was wrong.
    private func checkForSound() {
        guard case .active = phase, !connectionGaveSound, case .sound = body else { return }
        // A station that sends tags without end would never be heard; the tags of a file end with it.
        let hasOnlyTags = isLive && parser.findings.tagBytes - tagBytesAtBegin > 2 << 20
        guard hasOnlyTags || parser.findings.garbageBytes - garbageAtBegin > 128 * 1024 else { return }
        let reason =
            parser.findings.freeFormatHeaders > 64
            ? "This is MP3 in free format, which is not supported" : "The stream is not MP3"
        conclude(refusal: error(.audioDataNotFound, "\(reason); give the address of an MP3 stream."))
    }

    static func address(_ url: String) throws(RadioError) -> HTTPAddress {
        do {
            return try HTTPAddress(url)
        } catch {
            throw RadioError(.invalidConfiguration, operation: error.operation, message: error.message)
        }
    }

    func error(_ code: RadioErrorCode, _ message: String) -> RadioError {
        RadioError(
            code, operation: "receive the radio", subject: candidates?.current.displayName, message: message)
    }
}
