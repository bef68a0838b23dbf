import AudioCapturing
import HTTPTransport
import MP3Codec

extension RadioStream {
    /// How long a connection with sound must have lasted for the next to be made at once: a server that sends a few frames
    /// and hangs up is not asked at full speed.
    private static let recoveryTime = Duration.seconds(10)

    /// The bytes from which another codec is named.
    private static let probedBytes = 8 * 1024

    /// Makes a request to the current candidate.
    func connect() {
        guard let candidates else { return }
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
        pace = StreamPace()
        beginning = []
        isFormatProbed = false
        phase = .active
        var request = RadioRequest(address: candidates.current)
        request.credential = candidates.currentLogin
        request.wantsMetadata = wantsMetadata
        if fileLength != nil, !candidates.isAtPlaylist { request.offset = received }
        do throws(RadioError) { try transport.begin(request) } catch { fail(error) }
    }

    /// Looks at the head, once there is a byte of the body.
    private func decide(_ bytes: UnsafeRawBufferPointer) {
        let response = transport.response
        if let refusal = refusal(of: response) {
            body = .refused(refusal)
            return
        }
        // The frames decide, where they are seen; types of stations are wrong.
        if !SoundFormat.isMP3(bytes) {
            let url = (response.address ?? candidates?.current)?.requestURL ?? ""
            if let kind = Playlist.kind(contentType: response.contentType, url: url, body: bytes) {
                body = .playlist(kind)
                return
            }
            if let refusal = contentRefusal(of: response) {
                body = .refused(refusal)
                return
            }
        }
        body = .sound
        let interval = response.text("icy-metaint").flatMap { Int($0) }
        demuxer = ICYDemuxer(interval: wantsMetadata ? interval.map { min($0, 1 << 24) } : nil)
        // Stations state lengths that are not true; their headers tell them from files.
        isStation = hasUntrueLength || response.fields.contains { $0.name.hasPrefix("icy-") && $0.name != "icy-pub" }
        hasFileName = response.text("content-disposition")?.lowercased().contains("filename") == true
        let isPart = response.status == 206
        bytesToDrop = 0
        if let fileLength, isPart || response.contentLength == fileLength {
            if !isPart { bytesToDrop = received }
        } else if !isStation, let length = response.contentLength, RadioStream.isLength(length), !isPart {
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

    /// Whether a stated length may be true. Stations state the largest number of some type.
    private static func isLength(_ length: Int64) -> Bool {
        length > 0 && length != Int64(Int32.max) && length != Int64(UInt32.max) && length < 1 << 40
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
            pace.add(bytes.count, at: lastData)
            let rest = dropKnown(bytes)
            demuxer.feed(rest) { sound in
                beginning += sound.prefix(RadioStream.probedBytes - beginning.count)
                let count = parser.append(sound)
                received += Int64(count)
                connectionBytes &+= count
            } metadata: { block in
                takeMetadata(block)
            }
            return beginning.count < RadioStream.probedBytes || !isOtherFormat()
        }
    }

    /// Leaves out the bytes that were received before, where a server does not know ranges. A station whose length is not true sends
    /// at the speed of sound, from now on: nothing of that was received before.
    private func dropKnown(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard bytesToDrop > 0 else { return bytes }
        if pace.isOfStation(at: lastData) {
            bytesToDrop = 0
            isStation = true
            hasUntrueLength = true
            fileLength = nil
            information?.contentLength = nil
            return bytes
        }
        let dropped = min(Int(clamping: bytesToDrop), bytes.count)
        bytesToDrop -= Int64(dropped)
        return UnsafeRawBufferPointer(rebasing: bytes[dropped...])
    }

    /// Looks once whether the sound is of another codec; true ends the transfer.
    private func isOtherFormat() -> Bool {
        guard !isFormatProbed else { return false }
        isFormatProbed = true
        guard let name = beginning.withUnsafeBytes({ SoundFormat.name(ofOther: $0) })
        else { return false }
        let message = "This is \(name), which is not supported; give the address of an MP3 stream."
        body = .refused(error(.audioDataNotFound, message))
        return true
    }

    private func takeMetadata(_ block: UnsafeRawBufferPointer) {
        let metadata = ICYMetadata(block)
        guard metadata.title != nil else { return }
        statistics.titles &+= 1
        // Unread bytes are not kept indefinitely.
        if titles.count >= 64 { titles.removeFirst() }
        titles.append(Title(position: parser.endPosition, metadata: metadata))
    }

    // MARK: - Ends

    func conclude(refusal: RadioError) {
        transport.cancel()
        guard isLasting(refusal) else { return reconnect(after: refusal) }
        // Another entry of the playlist may play.
        guard candidates?.dropCurrent() == true else { return fail(refusal) }
        statistics.lastError = refusal
        phase = .waiting(clock.now)
    }

    func conclude(_ end: TransferEnd) {
        switch (body, end) {
        case (.playlist(let kind), .complete): openPlaylist(kind)
        case (.playlist(let kind), .failed(let reason)):
            // Of a long one the first entries are enough.
            playlistBytes.count > Playlist.maximumBytes ? openPlaylist(kind) : reconnect(after: reason)
        case (.sound, .complete):
            if isOtherFormat(), case .refused(let reason) = body { return conclude(refusal: reason) }
            guard fileLength != nil || isWholeFile else {
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
        case (.refused(let reason), _), (_, .failed(let reason)): conclude(refusal: reason)
        }
    }

    /// Whether a body without a length that has ended in good order is all of a file, and no station: it states the name of
    /// a file, came faster than sound is played, or is the same as the one before.
    private var isWholeFile: Bool {
        guard !isStation else { return false }
        let whole = (count: connectionBytes, beginning: beginning)
        defer { lastWhole = whole }
        return hasFileName || pace.isOfFile(at: clock.now)
            || lastWhole.map { $0.count == whole.count && $0.beginning == whole.beginning } == true
    }

    private func openPlaylist(_ kind: Playlist.Kind) {
        guard let current = candidates?.current else { return }
        do throws(RadioError) {
            playlistDepth += 1
            guard playlistDepth <= 4 else {
                return fail(
                    error(.streamParseFailed, "The playlists lead to each other; give the address of the stream."))
            }
            let base = transport.response.address ?? current
            let found = try Playlist(playlistBytes, kind: kind, base: base).addresses
            candidates?.adopt(found)
            isPlaylistFresh = true
            connect()
        } catch {
            conclude(refusal: error)
        }
    }

    /// Makes a further attempt, or gives up. Only attempts in a row that gave no sound count for giving up; the delay grows
    /// with each connection that did not last.
    func reconnect(after reason: RadioError) {
        transport.cancel()
        statistics.lastError = reason
        // Received bytes may not have been examined yet, if much is buffered.
        let gaveSound = connectionGaveSound || (connectionBytes >= 16 * 1024 && parser.count >= 8 * 1024)
        let hasLasted = gaveSound && clock.now - connectionBegin >= RadioStream.recoveryTime
        var isRoundOver = true
        if gaveSound {
            attempts = 0
        } else {
            attempts += 1
            let rounds = hasGivenSound ? configuration.attemptsAfterLoss : configuration.attemptsBeforeSound
            let limit = rounds.map { $0 * max(1, candidates?.entryCount ?? 1) } ?? .max
            guard attempts < limit else { return fail(reason) }
            isRoundOver = candidates?.advance() ?? true
        }
        if hasLasted {
            shortConnections = 0
        } else if isRoundOver || shortConnections == 0 {
            shortConnections = min(shortConnections + 1, configuration.retryDelays.count)
        }
        connectionGaveSound = false
        playlistDepth = 0
        let delay = shortConnections == 0 ? Duration.zero : configuration.retryDelays[shortConnections - 1]
        phase = .waiting(clock.now.advanced(by: delay))
    }

    func fail(_ reason: RadioError) {
        transport.cancel()
        var reason = reason
        if let count = candidates?.listedCount, count > 1, !hasGivenSound {
            reason.message += " None of the \(count) entries of the playlist plays."
        }
        statistics.lastError = reason
        phase = .failed(reason)
    }

    /// Whether another attempt would end the same way. A station whose source has gone answers 404 until it is back, and an
    /// entry that a playlist has named long ago may be refused where a new one is not.
    private func isLasting(_ reason: RadioError) -> Bool {
        switch reason.code {
        case .networkConnectionFailed, .networkStalled: false
        case .streamNotFound, .audioDataNotFound: !hasGivenSound
        case .permissionDenied: candidates?.hasPlaylist != true || !hasGivenSound || isPlaylistFresh
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
                "The address is a web page; give the address of the stream, such as /stream or /; after the host.")
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
