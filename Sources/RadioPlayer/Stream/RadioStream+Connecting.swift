import AudioCapturing
import HTTPTransport
import MP3Codec

extension RadioStream {
    /// How long a connection with sound must have lasted for the next to be made at once: a server that sends a few frames
    /// and hangs up is not asked at full speed.
    private static let recoveryTime = Duration.seconds(10)

    /// Whether the current candidate is the playlist that has named the others.
    private var isAtPlaylist: Bool { candidates.count > 1 && candidate == candidates.count - 1 }

    /// Makes a request to the current candidate.
    func connect() {
        statistics.attempts &+= 1
        body = .undecided
        demuxer = ICYDemuxer(interval: nil)
        playlistBytes = []
        connectionGaveSound = false
        connectionStart = parser.endPosition
        connectionBytes = 0
        garbageAtBegin = parser.findings.garbageBytes
        connectionBegin = clock.now
        lastData = connectionBegin
        tagBytesAtBegin = parser.findings.tagBytes
        phase = .active
        var request = RadioRequest(address: candidates[candidate])
        request.wantsMetadata = wantsMetadata
        if fileLength != nil, !isAtPlaylist { request.offset = received }
        do throws(RadioError) { try transport.begin(request) } catch { fail(error) }
    }

    /// Looks at the head, once there is a byte of the body.
    private func decide(_ bytes: UnsafeRawBufferPointer) {
        let response = transport.response
        if let refusal = refusal(of: response) {
            body = .refused(refusal)
            return
        }
        let url = (response.address ?? candidates[candidate]).requestURL
        if let kind = Playlist.kind(contentType: response.contentType, url: url, body: bytes) {
            body = .playlist(kind)
            return
        }
        if let refusal = contentRefusal(of: response) {
            body = .refused(refusal)
            return
        }
        body = .sound
        let interval = response.text("icy-metaint").flatMap { Int($0) }
        demuxer = ICYDemuxer(interval: wantsMetadata ? interval.map { min($0, 1 << 24) } : nil)
        // Stations state lengths that are not true; their headers tell them from files.
        let isStation = response.fields.contains { $0.name.hasPrefix("icy-") && $0.name != "icy-pub" }
        let isPart = response.status == 206
        bytesToDrop = 0
        if let fileLength, isPart || response.contentLength == fileLength {
            if !isPart { bytesToDrop = received }
        } else if !isStation, let length = response.contentLength, length > 0, !isPart {
            if received > 0 {
                parser.reset(position: 0)
                connectionStart = 0
            }
            fileLength = length
            received = 0
        } else {
            fileLength = nil
        }
        // The cover of a file may have megabytes; a station that sends as much would be silent.
        parser.maximumFirstTagBytes = fileLength.map { Int(clamping: $0) } ?? MP3FrameParser.maximumTagBytes
        var information = RadioInformation(response)
        information.contentLength = fileLength
        information.hasMetadata = demuxer.interval != nil
        self.information = information
    }

    /// Called by the transport.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        lastData = clock.now
        if case .undecided = body { decide(bytes) }
        switch body {
        case .undecided, .refused: return false
        case .playlist:
            playlistBytes.append(contentsOf: bytes.prefix(Playlist.maximumBytes + 1 - playlistBytes.count))
            return playlistBytes.count <= Playlist.maximumBytes
        case .sound:
            var rest = bytes
            if bytesToDrop > 0 {
                let dropped = min(Int(clamping: bytesToDrop), rest.count)
                bytesToDrop -= Int64(dropped)
                rest = UnsafeRawBufferPointer(rebasing: rest[dropped...])
            }
            demuxer.feed(rest) { sound in
                let count = parser.append(sound)
                received += Int64(count)
                connectionBytes &+= count
            } metadata: { block in
                takeMetadata(block)
            }
            return true
        }
    }

    private func takeMetadata(_ block: UnsafeRawBufferPointer) {
        let metadata = ICYMetadata(block)
        guard metadata.title != nil else { return }
        statistics.titles &+= 1
        // What is not read is not kept indefinitely.
        if titles.count >= 64 { titles.removeFirst() }
        titles.append(Title(position: parser.endPosition, metadata: metadata))
    }

    // MARK: - Ends

    func conclude(refusal: RadioError) {
        transport.cancel()
        isLasting(refusal) ? fail(refusal) : reconnect(after: refusal)
    }

    func conclude(_ end: TransferEnd) {
        switch (body, end) {
        case (.playlist(let kind), .complete): openPlaylist(kind)
        case (.playlist, .failed(let reason)):
            if playlistBytes.count > Playlist.maximumBytes {
                return fail(
                    error(.streamParseFailed, "The playlist has more than 64 KB; give the address of the stream."))
            }
            reconnect(after: reason)
        case (.sound, .complete):
            if fileLength == nil {
                return reconnect(
                    after: error(.networkConnectionFailed, "The server has ended the stream; try again later."))
            }
            parser.finish()
            phase = .ended
        case (.undecided, .complete):
            // Without a body there was nothing to decide upon.
            let response = transport.response
            let found =
                refusal(of: response)
                ?? error(.networkConnectionFailed, "The server has sent nothing; try again later.")
            conclude(refusal: found)
        case (_, .failed(let reason)):
            isLasting(reason) ? fail(reason) : reconnect(after: reason)
        case (.refused(let reason), _): conclude(refusal: reason)
        }
    }

    private func openPlaylist(_ kind: Playlist.Kind) {
        do throws(RadioError) {
            let base = transport.response.address ?? candidates[candidate]
            let playlist = try Playlist(playlistBytes, kind: kind, base: base)
            var found = playlist.entries.compactMap { try? RadioStream.address($0) }
            guard !found.isEmpty else {
                throw error(
                    .streamUnsupported, "The playlist names no stream over http or https; give the address of one.")
            }
            playlistDepth += 1
            guard playlistDepth <= 4 else {
                throw error(.streamParseFailed, "The playlists lead to each other; give the address of the stream.")
            }
            if let original { found.append(original) }
            candidates = found
            candidate = 0
            isPlaylistFresh = true
            connect()
        } catch {
            fail(error)
        }
    }

    /// Makes a further attempt, or gives up. Only attempts in a row that gave no sound count for giving up; the delay grows
    /// with each connection that did not last.
    func reconnect(after reason: RadioError) {
        transport.cancel()
        statistics.lastError = reason
        // What came may not have been looked at yet, where much is held.
        let gaveSound = connectionGaveSound || (connectionBytes >= 16 * 1024 && parser.count >= 8 * 1024)
        let hasLasted = gaveSound && clock.now - connectionBegin >= RadioStream.recoveryTime
        shortConnections = hasLasted ? 0 : min(shortConnections + 1, configuration.retryDelays.count)
        if gaveSound {
            attempts = 0
        } else {
            attempts += 1
            let limit = hasGivenSound ? configuration.attemptsAfterLoss ?? .max : configuration.attemptsBeforeSound
            guard attempts < limit else { return fail(reason) }
            candidate = (candidate + 1) % candidates.count
        }
        connectionGaveSound = false
        playlistDepth = 0
        let delay = shortConnections == 0 ? Duration.zero : configuration.retryDelays[shortConnections - 1]
        phase = .waiting(clock.now.advanced(by: delay))
    }

    func fail(_ reason: RadioError) {
        transport.cancel()
        statistics.lastError = reason
        phase = .failed(reason)
    }

    /// Whether another attempt would end the same way. A station whose source has gone answers 404 until it is back, and an
    /// entry that a playlist has named long ago may be refused where a new one is not.
    private func isLasting(_ reason: RadioError) -> Bool {
        switch reason.code {
        case .networkConnectionFailed, .networkStalled: false
        case .streamNotFound: !hasGivenSound && candidates.count <= 2
        case .permissionDenied: candidates.count == 1 || !hasGivenSound || isPlaylistFresh
        default: true
        }
    }

    // MARK: - Refusals

    /// The error for a status; nil for one after which a stream may come.
    private func refusal(of response: RadioResponse) -> RadioError? {
        let text = response.statusText
        switch response.status {
        case 200, 206: return nil
        case 0: return error(.streamParseFailed, "The server does not speak HTTP; check the address and the port.")
        case 401:
            return error(
                .permissionDenied,
                response.asksForLogin
                    ? "The server asks for a user name and a password; give them before the host, as user:password@."
                    : "The server refuses the user name or the password; check both.")
        case 403: return error(.permissionDenied, "The server does not allow this (\(text)); check the address.")
        case 404, 410:
            return error(.streamNotFound, "There is no such stream (\(text)); check the address, or try again later.")
        case 407: return error(.permissionDenied, "The proxy asks for a password (\(text)); give it in its address.")
        case 416: return error(.streamSeekFailed, "The server has nothing there (\(text)); seek elsewhere.")
        case 408, 429, 500...599:
            return error(.networkConnectionFailed, "The server cannot serve now (\(text)); try again later.")
        case 300...399:
            return error(.streamUnsupported, "The server redirects to nowhere (\(text)); check the address.")
        default:
            return error(.streamUnsupported, "The server does not answer with a stream (\(text)); check the address.")
        }
    }

    /// The error for a type that is not MP3; nil for MP3, and where the frames must tell.
    private func contentRefusal(of response: RadioResponse) -> RadioError? {
        let type = response.contentType
        func unsupported(_ what: String) -> RadioError {
            error(.streamUnsupported, "This is \(what), which is not supported; give the address of an MP3 stream.")
        }
        if type == "text/html" || type == "application/xhtml+xml" {
            return error(
                .streamUnsupported,
                "The address gives a web page; give the address of the stream, such as /stream or /; behind the host.")
        }
        if type.hasPrefix("audio/aac") || type == "audio/mp4" || type == "audio/x-aac" {
            return unsupported("AAC (\(type))")
        }
        if type.contains("ogg") { return unsupported("Ogg (\(type)): Vorbis, Opus or FLAC") }
        if type.contains("flac") || type.contains("opus") || type.contains("wav") { return unsupported(type) }
        if type.contains("xspf") { return unsupported("an XSPF playlist (\(type))") }
        if type.hasPrefix("video/") && type != "video/mpeg" || type.hasPrefix("image/") { return unsupported(type) }
        return nil
    }
}
