import CaptureCore
import RTP
internal import StreamTransport
import VideoCapturing
import WebRTCTransport

/// The streams of one peer: packets, reports, lost packets, bandwidth and pace. For one thread at a time.
final class SessionMedia {
    /// One track, as it is sent.
    struct Stream {
        var track: TrackID
        var isVideo: Bool
        let sender: RTPSender
        var nextReport = MediaTime.zero
    }

    /// What the owner does once the lock is free.
    struct Requests {
        var keyFrame = false
        /// A bitrate for the encoder; nil when it has not changed.
        var bitrate: Int?
    }

    private(set) var streams: [Stream]
    private var estimator: BandwidthEstimator
    private var pacer: Pacer
    private var parser = RTCPParser()
    private var keyFrames: KeyFrameLimiter
    private var transportNumber = UInt16.random(in: .min ... .max)
    private let clock: NTPClock
    private let audioBitrate: Int
    private var nextUpdate = MediaTime.zero
    /// What the encoder was asked for last, and when.
    private var requested = (bitrate: 0, time: MediaTime.zero)
    private var rate = SentRate()
    private(set) var counts = Counts()

    struct Counts {
        var keyFramesRequested: UInt64 = 0
        var packetsDropped: UInt64 = 0
        var hasSaidGoodbye = false
    }

    static let reportInterval = Duration.seconds(1)
    private static let updateInterval = Duration.milliseconds(100)
    /// More waits in the queue of frames, where whole groups of pictures can be left out.
    private static let maximumPaced = Duration.milliseconds(250)

    init(_ streams: [Stream], _ estimator: BandwidthEstimator, clock: NTPClock, audioBitrate: Int) {
        self.streams = streams
        self.estimator = estimator
        self.clock = clock
        self.audioBitrate = audioBitrate
        pacer = Pacer(bitrate: estimator.pacingRate(at: .zero))
        keyFrames = KeyFrameLimiter()
    }

    // MARK: Sending

    /// Splits waiting frames into packets, and adds the packets that are due to the batch; `send` takes a full one, and the last.
    ///
    /// - Returns: the time of the next call.
    func sendDue(
        from queue: PacketQueue, at now: MediaTime, using batch: DatagramBatch, send: (DatagramBatch) -> Void
    ) -> MediaTime {
        while pacer.queueDuration < SessionMedia.maximumPaced, let packet = queue.popIfPresent() {
            packetize(packet, at: now)
        }
        if now >= nextUpdate { update(at: now) }
        while let output = pacer.next(at: now) {
            batch.add { memory in
                guard let (packet, probe) = write(output, into: memory, at: now) else { return 0 }
                let size = packet.bytes.count
                packet.stamps.write(transportNumber: transportNumber, ntp: clock.time(at: now), into: memory)
                if packet.stamps.transportNumberIndex > 0 {
                    estimator.didSend(transportNumber, bytes: size, at: now, probe: probe)
                    transportNumber &+= 1
                }
                rate.add(size, at: now)
                return size
            }
            if batch.isFull { send(batch) }
        }
        if batch.count > 0 { send(batch) }
        return min(pacer.nextTime(after: now) ?? nextUpdate, nextUpdate)
    }

    /// Writes a packet that waited, or one that is sent only to see whether the link takes more.
    private func write(
        _ output: Pacer.Output, into memory: UnsafeMutableRawBufferPointer, at now: MediaTime
    ) -> (packet: RTPPacket, probe: UInt8)? {
        switch output {
        case .packet(let entry, _, let probe):
            guard let packet = streams[entry.stream].sender.write(entry.packet, into: memory, at: now) else {
                counts.packetsDropped += 1
                return nil
            }
            return (packet, probe)
        case .padding(_, let probe):
            let sender = streams.first(where: \.isVideo)?.sender
            return sender?.writePadding(into: memory, at: now).map { ($0, probe) }
        }
    }

    private func packetize(_ packet: MediaPacket, at now: MediaTime) {
        guard let index = streams.firstIndex(where: { $0.track == packet.track }) else { return }
        let stream = streams[index]
        if stream.isVideo, packet.isKeyFrame { keyFrames.didSendKeyFrame() }
        stream.sender.enqueue(packet, at: now) {
            pacer.push(Pacer.Entry($0, ofStream: index), stream.isVideo ? .video : .audio)
        }
    }

    /// Whether no packet waits for its time.
    var hasSentAll: Bool { pacer.count == 0 }

    private func update(at now: MediaTime) {
        // At the same moments for all peers, so that they are one reason to wake, and not one each.
        let interval = SessionMedia.updateInterval.nanoseconds
        nextUpdate = MediaTime(nanoseconds: (now.nanoseconds / interval + 1) * interval)
        estimator.update(at: now)
        pacer.bitrate = estimator.pacingRate(at: now)
        if canPad, let probe = estimator.takeProbe() { pacer.begin(probe) }
        for stream in streams { stream.sender.targetBitrate = estimator.target }
    }

    /// Whether there is something to fill a probe with.
    private var canPad: Bool { streams.contains { $0.isVideo && $0.sender.retransmissionSSRC != nil } }

    /// The requests to the encoder.
    func takeRequests(at now: MediaTime) -> Requests {
        var requests = Requests()
        if keyFrames.takeDue(at: now) { requests.keyFrame = true }
        let wanted = max(SessionMedia.minimumVideo, estimator.target / 100 * 95 - audioBitrate)
        let change = abs(wanted - requested.bitrate)
        // Small changes are noise; an encoder needs a while to follow each.
        if change * 20 > requested.bitrate, now.nanoseconds(since: requested.time) >= 200_000_000 {
            requested = (wanted, now)
            requests.bitrate = wanted
        }
        if requests.keyFrame { counts.keyFramesRequested += 1 }
        return requests
    }

    private static let minimumVideo = 30_000

    // MARK: Reports

    /// Writes the reports that are due, each by a call of `send`.
    func sendReports(at now: MediaTime, isGoodbye: Bool = false, send: (UnsafeRawBufferPointer) -> Void) {
        for index in streams.indices where now >= streams[index].nextReport || isGoodbye {
            withUnsafeTemporaryAllocation(byteCount: RTPSender.maximumReportSize, alignment: 8) { memory in
                let sender = streams[index].sender
                let size =
                    isGoodbye ? sender.writeGoodbye(into: memory, at: now) : sender.writeReport(into: memory, at: now)
                guard size > 0 else { return }
                streams[index].nextReport = now.advanced(by: SessionMedia.reportInterval)
                send(UnsafeRawBufferPointer(rebasing: memory[..<size]))
            }
        }
    }

    /// Takes a report of the peer.
    ///
    /// - Returns: whether there is something to do before the next call of ``sendDue(from:at:using:send:)`` that is due.
    func receive(_ report: UnsafeRawBufferPointer, at now: MediaTime) -> Bool {
        let waiting = pacer.count
        var asksForKeyFrame = false
        parser.parse(report, at: now) { event in
            for (index, stream) in streams.enumerated() {
                let isAsked = stream.sender.handle(event, at: now) {
                    pacer.push(Pacer.Entry($0, ofStream: index), .resend)
                }
                if isAsked, stream.isVideo { asksForKeyFrame = true }
            }
            switch event {
            case .transportFeedback(let packet): estimator.handleFeedback(packet, at: now)
            case .maximumBitrate(let bitrate, let sources):
                // An estimate without the sound leaves room for it: some receivers measure the video alone.
                let sound = streams.first { !$0.isVideo }?.sender.configuration.ssrc
                let isWithSound = sound.map(sources.contains) ?? true
                estimator.handleREMB(bitrate.addingClamped(isWithSound ? 0 : audioBitrate), at: now)
            case .reception(let reception):
                guard let stream = streams.first(where: { $0.sender.configuration.ssrc == reception.ssrc }) else {
                    return
                }
                estimator.handleReport(
                    fractionLost: reception.fractionLost, roundTripTime: stream.sender.roundTripTime, at: now)
            default: break
            }
        }
        if asksForKeyFrame { requestKeyFrame(at: now) }
        return isKeyFrameNeeded || pacer.count > waiting
    }

    /// Restarts the estimate: that of the old path may not hold for the new one.
    func didChangePath() {
        estimator = BandwidthEstimator(estimator.configuration)
    }

    /// Asks for a key frame: at the next ``takeRequests(at:)``, or when the last one was long enough ago.
    func requestKeyFrame(at now: MediaTime) {
        if keyFrames.request(at: now) { isKeyFrameNeeded = true }
    }

    private var isKeyFrameNeeded = false

    /// Whether to request a key frame from the encoder at once.
    func takeKeyFrameRequest() -> Bool {
        defer { isKeyFrameNeeded = false }
        if isKeyFrameNeeded { counts.keyFramesRequested += 1 }
        return isKeyFrameNeeded
    }

    // MARK: Statistics

    /// Without what the connection counts.
    func statistics(at now: MediaTime) -> WebRTCOutput.Statistics {
        var result = WebRTCOutput.Statistics()
        result.bitrate = rate.bitrate(at: now)
        result.targetBitrate = estimator.target
        result.roundTripTime = estimator.statistics.roundTripTime
        result.loss = estimator.statistics.loss
        for stream in streams {
            let counters = stream.sender.statistics
            result.framesSent += stream.isVideo ? counters.frames : 0
            result.nacks += counters.nacks
            result.packetsResent += counters.packetsResent
            result.keyFrameRequests += counters.keyFrameRequests
            result.roundTripTime = result.roundTripTime ?? counters.roundTripTime
            if estimator.statistics.feedbackCount == 0 {
                result.loss = max(result.loss, counters.fractionLost)
            }
        }
        result.keyFramesRequested = counts.keyFramesRequested
        result.packetsDropped = counts.packetsDropped
        return result
    }
}

extension LocalSession.Stream {
    /// The stream of a track: with retransmissions for video. Nil for a codec that is not carried.
    init?(_ track: TrackDescription) {
        guard let format = RTPFormat(track.codec) else { return nil }
        switch format {
        case .opus:
            var opus = LocalSession.Format(.opus, payloadType: 111)
            if case .audio(let audio) = track.media { opus.isStereo = audio.channelCount == 2 }
            self.init(formats: [opus])
        case .aac, .h265, .vp9, .jpeg, .g711: return nil
        case .vp8, .h264:
            var profile = "42e01f"
            // Bytes 1 to 3 of `avcC`; a Baseline profile is offered as the one that all receivers take.
            track.decoderConfiguration?.withUnsafeBytes { bytes in
                guard format == .h264, bytes.count >= 4, bytes[1] != 66 else { return }
                profile = bytes[1...3].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            }
            self.init(
                formats: [
                    LocalSession.Format(format, payloadType: 96, retransmissionType: 97, profileLevelID: profile)
                ], retransmissionSSRC: .random(in: 1 ... .max))
        }
    }
}

/// The bytes that were sent within the last second, in slots of a tenth.
private struct SentRate {
    private var slots = [(index: Int64, bytes: Int)](repeating: (-1, 0), count: 10)

    mutating func add(_ bytes: Int, at now: MediaTime) {
        let index = now.nanoseconds / 100_000_000
        let slot = Int(index % 10)
        if slots[slot].index != index { slots[slot] = (index, 0) }
        slots[slot].bytes += bytes
    }

    /// In bits per second.
    func bitrate(at now: MediaTime) -> Int {
        let index = now.nanoseconds / 100_000_000
        return slots.reduce(0) { $0 + (index - $1.index < 10 ? $1.bytes * 8 : 0) }
    }
}

extension Int {
    fileprivate func addingClamped(_ other: Int) -> Int {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}
