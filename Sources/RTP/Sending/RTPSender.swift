import CaptureCore

/// One stream of RTP: cuts frames into packets, sends lost ones again, and writes the reports.
///
/// ```swift
/// let sender = RTPSender(.init(format: .vp8, payloadType: 96), clock: NTPClock())
/// sender.send(frame, at: clock.now) { packet in transport.enqueue(packet) }      // nothing is allocated
/// parser.parse(datagram, at: clock.now) { event in
///     if sender.handle(event, at: clock.now, output: { transport.enqueue($0) }) { feedback.requestKeyFrame() }
/// }
/// let size = sender.writeReport(into: buffer, at: clock.now)                      // each second
/// ```
/// It sends nothing itself: packets go to a closure, so it serves plain RTP and a transport that paces and protects alike.
///
/// For one thread at a time, as the lock of its owner has it (`@unchecked Sendable` for that).
package final class RTPSender: @unchecked Sendable {
    /// How it sends.
    package let configuration: RTPSender.Configuration
    /// The source of the retransmissions; nil where they have none of their own.
    package let retransmissionSSRC: UInt32?
    /// The bitrate that the stream should have, in bits per second: retransmissions get half of it at most.
    package var targetBitrate: Int { didSet { budget.bitrate = targetBitrate / 2 } }
    /// The statistics of the sender.
    package var statistics: RTPSender.Statistics {
        var result = counters
        result.roundTripTime = reports.roundTripTime
        result.oversizedFrames = packetizer.oversized
        return result
    }
    /// The last round trip that a report stated; nil before.
    package var roundTripTime: Duration? { reports.roundTripTime }
    /// Why the last image was left out, for the user; nil where it was not.
    package var imageProblem: String? { packetizer.imageProblem?.message }
    /// Whether a packet was sent, so that reports have something to state.
    package var hasSent: Bool { counters.packets > 0 }

    /// The number of the next packet.
    package var nextSequenceNumber: UInt16 { sequenceNumber }
    /// The RTP timestamp of a frame of this time.
    package func timestamp(at time: MediaTime) -> UInt32 { timeline.timestamp(at: time) }

    let timeline: RTPTimeline
    var counters = RTPSender.Statistics()
    var reports: ReportState
    private var packetizer: Packetizer
    private let history: RTPHistory?
    /// Where a packet is written that is not in the history, or leaves under another number.
    private let scratch: UnsafeMutableRawBufferPointer
    private var budget: ResendBudget
    private var sequenceNumber: UInt16
    private var resendNumber: UInt16
    private let mid: [UInt8]?
    private var orientation: VideoOrientation?
    /// The size of all headers.
    private let overhead: Int
    /// The number of the last full intra request, by which a repeated one is known.
    private var lastIntraRequest: UInt8?

    /// The number of packets at the beginning that carry the mid, besides those of key frames.
    private static let packetsWithMID: UInt64 = 50

    /// Creates the sender of a stream, with the memory that it uses.
    ///
    /// - Parameters:
    ///   - configuration: how to send.
    ///   - clock: shared by all streams of a session.
    package init(_ configuration: RTPSender.Configuration, clock: NTPClock) {
        self.configuration = configuration
        let start = configuration.start
        timeline = RTPTimeline(rate: configuration.format.clockRate, offset: start.timestamp)
        reports = ReportState(clock: clock, cname: Array(configuration.cname.utf8.prefix(255)))
        packetizer = Packetizer(configuration.format, pictureID: start.pictureID)
        mid = configuration.mid.map { Array($0.utf8.prefix(16)) }
        sequenceNumber = start.sequenceNumber
        resendNumber = start.resendNumber
        var resendOverhead = 0
        if case .rtx(_, let ssrc) = configuration.resending {
            retransmissionSSRC = ssrc
            resendOverhead = 2
        } else {
            retransmissionSSRC = nil
        }
        let header = RTPHeader.maximumSize(configuration.extensions, midLength: mid?.count ?? 0)
        overhead = header + resendOverhead + configuration.trailerSize
        scratch = .allocate(byteCount: configuration.maximumPacketSize, alignment: 16)
        history =
            configuration.resending == .none
            ? nil
            : RTPHistory(bitrate: configuration.maximumBitrate, maximumPacketSize: configuration.maximumPacketSize)
        targetBitrate = configuration.maximumBitrate
        budget = ResendBudget(bitrate: configuration.maximumBitrate / 2)
    }

    deinit { scratch.deallocate() }

    // MARK: Frames

    /// Sends a frame: hands its packets out in their order. An empty frame is ignored.
    ///
    /// - Parameters:
    ///   - frame: of the codec of the format.
    ///   - now: the time, for the history.
    ///   - output: takes each packet.
    package func send(_ frame: MediaPacket, at now: MediaTime, output: (RTPPacket) -> Void) {
        guard frame.data.count > 0 else { return }
        counters.frames += 1
        if frame.isKeyFrame { counters.keyFrames += 1 }
        let timestamp = timeline.timestamp(at: frame.timestamp)
        let isVideo = !configuration.format.isAudio
        let isKeyFrame = isVideo && frame.isKeyFrame
        // 3GPP TS 26.114, 7.4.5: on the last packet of a key frame, and when it changes.
        let orientation = isKeyFrame || frame.orientation != orientation ? frame.orientation : nil
        self.orientation = frame.orientation
        let room = configuration.maximumPacketSize - overhead
        frame.data.withUnsafeBytes { bytes in
            if case .g711(_, let rate, let channels) = configuration.format {
                return sendSamples(
                    frame, bytes, size: channels, limit: max(1, min(room / channels, rate / 50)), timestamp, now, output
                )
            }
            packetizer.packetize(frame, bytes, room: room) { isLast, size, write in
                let packet = makePacket(
                    timestamp: timestamp, isLast: isLast, isKeyFrame: isKeyFrame,
                    orientation: isLast && isVideo ? orientation : nil, payloadSize: size, at: now, write)
                output(packet)
            }
        }
    }

    /// Sends samples in packets of 20 ms at most (RFC 3551, 4.2), each with its time.
    private func sendSamples(
        _ frame: MediaPacket, _ bytes: UnsafeRawBufferPointer, size: Int, limit: Int, _ timestamp: UInt32,
        _ now: MediaTime, _ output: (RTPPacket) -> Void
    ) {
        for part in EqualParts(bytes.count / size, limit: limit) {
            let samples = bytes.slice(part.lowerBound * size..<part.upperBound * size)
            packetizer.packetize(frame, samples, room: samples.count) { isLast, size, write in
                output(
                    makePacket(
                        timestamp: timestamp &+ UInt32(truncatingIfNeeded: part.lowerBound), isLast: isLast,
                        isKeyFrame: false, orientation: nil, payloadSize: size, at: now, write))
            }
        }
    }

    private func makePacket(
        timestamp: UInt32, isLast: Bool, isKeyFrame: Bool, orientation: VideoOrientation?, payloadSize: Int,
        at now: MediaTime, _ write: (UnsafeMutableRawBufferPointer) -> Void
    ) -> RTPPacket {
        let number = sequenceNumber
        sequenceNumber &+= 1
        let stored = configuration.resending.storesPlainPackets ? history : nil
        let memory = stored?.reserve(number) ?? scratch
        let header = RTPHeader(
            payloadType: configuration.payloadType, isMarked: isLast, sequenceNumber: number, timestamp: timestamp,
            ssrc: configuration.ssrc)
        let needsMID = isKeyFrame || counters.packets < RTPSender.packetsWithMID
        let (size, stamps) = header.write(
            into: memory, configuration.extensions, mid: needsMID ? mid : nil, orientation: orientation)
        write(UnsafeMutableRawBufferPointer(rebasing: memory[size..<size + payloadSize]))
        let count = size + payloadSize
        stored?.commit(size: count, headerSize: size, isKeyFrame: isKeyFrame, at: now)
        counters.packets += 1
        counters.bytes += UInt64(count)
        counters.payloadBytes += UInt64(payloadSize)
        return RTPPacket(
            bytes: UnsafeRawBufferPointer(rebasing: memory[..<count]), ssrc: configuration.ssrc,
            sequenceNumber: number, payloadSize: payloadSize, isLastOfFrame: isLast, isKeyFrame: isKeyFrame,
            isResent: false, isProtected: false, stamps: stamps)
    }

    /// Keeps a packet as it went over the wire, for ``Resending/protected``.
    ///
    /// - Parameters:
    ///   - bytes: at most as many as the maximum of a packet; larger ones are not kept.
    ///   - sequenceNumber: the number of the packet.
    ///   - now: the time.
    package func storeProtected(_ bytes: UnsafeRawBufferPointer, sequenceNumber: UInt16, at now: MediaTime) {
        guard configuration.resending == .protected, bytes.count <= configuration.maximumPacketSize, let history
        else { return }
        history.reserve(sequenceNumber).write(bytes, at: 0)
        history.commit(
            size: bytes.count, headerSize: 0, isKeyFrame: false, isProtected: true, at: now)
    }

    // MARK: Feedback

    /// Takes what a receiver says, and sends again what it lacks.
    ///
    /// - Parameters:
    ///   - event: of any stream; those of others are ignored.
    ///   - now: the time.
    ///   - output: takes the packets that are sent again.
    /// - Returns: whether the receiver asks for a key frame.
    package func handle(_ event: RTCPEvent, at now: MediaTime, output: (RTPPacket) -> Void) -> Bool {
        switch event {
        case .reception(let report) where report.ssrc == configuration.ssrc:
            counters.reports += 1
            counters.fractionLost = Double(report.fractionLost) / 256
            counters.packetsLost = Int(report.packetsLost)
            counters.jitter = Duration(
                clampingNanoseconds: Double(report.jitter) * 1e9 / Double(configuration.format.clockRate))
            reports.take(report, at: now)
        case .nack(let ssrc, let list) where ssrc == configuration.ssrc:
            counters.nacks += 1
            for number in list { resend(number, at: now, output) }
        case .pictureLoss(let ssrc) where isOurs(ssrc):
            counters.keyFrameRequests += 1
            return true
        case .intraRequest(let ssrc, let number) where isOurs(ssrc):
            guard number != lastIntraRequest else { return false }
            lastIntraRequest = number
            counters.keyFrameRequests += 1
            return true
        default: break
        }
        return false
    }

    /// Some ask without naming the source.
    private func isOurs(_ ssrc: UInt32) -> Bool {
        ssrc == configuration.ssrc || ssrc == 0 || ssrc == retransmissionSSRC
    }

    private func resend(_ number: UInt16, at now: MediaTime, _ output: (RTPPacket) -> Void) {
        counters.packetsAsked += 1
        let found = history?.takeForResending(
            number, at: now, interval: roundTripTime ?? .zero,
            permits: { size in
                guard budget.take(size, at: now) else {
                    counters.resendsWithheld += 1
                    return false
                }
                return true
            })
        guard let (bytes, entry) = found else { return }
        counters.packetsResent += 1
        guard case .rtx(let payloadType, let ssrc) = configuration.resending else {
            counters.bytesResent += UInt64(bytes.count)
            output(
                RTPPacket(
                    bytes: bytes, ssrc: configuration.ssrc, sequenceNumber: number,
                    payloadSize: max(0, bytes.count - Int(entry.headerSize)), isLastOfFrame: bytes[1] & 0x80 != 0,
                    isKeyFrame: entry.isKeyFrame, isResent: true, isProtected: entry.isProtected,
                    stamps: RTPPacket.Stamps()))
            return
        }
        let resent = resendNumber
        let (headerSize, count, stamps) = writeRetransmission(
            of: bytes, entry, payloadType: payloadType, ssrc: ssrc, into: scratch)
        counters.bytesResent += UInt64(count)
        output(
            RTPPacket(
                bytes: UnsafeRawBufferPointer(rebasing: scratch[..<count]), ssrc: ssrc,
                sequenceNumber: resent, payloadSize: count - headerSize,
                isLastOfFrame: bytes[1] & 0x80 != 0, isKeyFrame: entry.isKeyFrame, isResent: true, isProtected: false,
                stamps: stamps))
    }

    /// RFC 4588, 4: the original number stands before the payload.
    private func writeRetransmission(
        of bytes: UnsafeRawBufferPointer, _ entry: RTPHistory.Entry, payloadType: UInt8, ssrc: UInt32,
        into memory: UnsafeMutableRawBufferPointer
    ) -> (headerSize: Int, size: Int, stamps: RTPPacket.Stamps) {
        let header = RTPHeader(
            payloadType: payloadType, isMarked: bytes[1] & 0x80 != 0, sequenceNumber: resendNumber,
            timestamp: bytes.bigEndian32(at: 4), ssrc: ssrc)
        resendNumber &+= 1
        let (size, stamps) = header.write(into: memory, configuration.extensions, mid: mid, orientation: nil)
        let payload = bytes.slice(Int(entry.headerSize)..<bytes.count)
        memory.write(entry.sequenceNumber, at: size)
        memory.write(payload, at: size + 2)
        return (size, size + 2 + payload.count, stamps)
    }

    /// Writes a packet that the receiver has, or will soon have, and leaves out: the newest one, in the stream of
    /// retransmissions.
    ///
    /// - Parameters:
    ///   - memory: takes it; of the maximum size of a packet.
    ///   - now: the time.
    /// - Returns: its size, and the places of the fields to write when it leaves; nil without such a stream, or before a packet.
    package func writePadding(
        into memory: UnsafeMutableRawBufferPointer, at now: MediaTime
    ) -> (size: Int, stamps: RTPPacket.Stamps)? {
        guard case .rtx(let payloadType, let ssrc) = configuration.resending,
            let (bytes, entry) = history?.last(at: now)
        else { return nil }
        let (_, size, stamps) = writeRetransmission(
            of: bytes, entry, payloadType: payloadType, ssrc: ssrc, into: memory)
        counters.paddingPackets += 1
        return (size, stamps)
    }
}
