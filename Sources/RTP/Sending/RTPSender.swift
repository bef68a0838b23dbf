import CaptureCore

/// One stream of RTP: cuts frames into packets, sends lost ones again, and writes the reports.
///
/// ```swift
/// let sender = RTPSender(.init(format: .vp8, payloadType: 96), clock: NTPClock())
/// sender.enqueue(frame, at: clock.now) { pacer.push($0) }
/// parser.parse(datagram, at: clock.now) { event in
///     if sender.handle(event, at: clock.now, output: { pacer.push($0) }) { feedback.requestKeyFrame() }
/// }
/// let packet = sender.write(pacer.next(), into: buffer, at: clock.now)            // when it leaves; nothing is allocated
/// let size = sender.writeReport(into: buffer, at: clock.now)                      // each second
/// ```
/// It sends nothing itself. A packet that waits is a number; its bytes are written once, into the memory from which it is sent.
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
    private var history: RTPHistory
    /// The memory of packets that are sent at once; nil before the first.
    private var scratch: UnsafeMutableRawBufferPointer?
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
        history = RTPHistory(isKept: configuration.resending != .none)
        targetBitrate = configuration.maximumBitrate
        budget = ResendBudget(bitrate: configuration.maximumBitrate / 2)
    }

    deinit { scratch?.deallocate() }

    // MARK: Frames

    /// Cuts a frame into packets, in their order. An empty frame is ignored.
    ///
    /// - Parameters:
    ///   - frame: of the codec of the format. Its bytes are held until its packets can no longer be asked for.
    ///   - now: the time, for the history.
    ///   - output: takes each packet, which waits for ``write(_:into:at:)``.
    package func enqueue(_ frame: MediaPacket, at now: MediaTime, output: (OutgoingPacket) -> Void) {
        guard frame.data.count > 0 else { return }
        counters.frames += 1
        if frame.isKeyFrame { counters.keyFrames += 1 }
        let isVideo = !configuration.format.isAudio
        var packet = RTPHistory.Packet()
        packet.timestamp = timeline.timestamp(at: frame.timestamp)
        packet.isKeyFrame = isVideo && frame.isKeyFrame
        // 3GPP TS 26.114, 7.4.5: on the last packet of a key frame, and when it changes.
        let orientation =
            isVideo && (packet.isKeyFrame || frame.orientation != orientation) ? frame.orientation : nil
        self.orientation = frame.orientation
        let room = configuration.maximumPacketSize - overhead
        history.begin(frame.data, at: now)
        frame.data.withUnsafeBytes { bytes in
            if case .g711(_, let rate, let channels) = configuration.format {
                let limit = max(1, min(room / channels, rate / 50))
                return enqueueSamples(frame, bytes, size: channels, limit: limit, packet, output)
            }
            packetizer.packetize(frame, bytes, room: room) { isLast, payload in
                packet.isLastOfFrame = isLast
                packet.orientation = isLast ? orientation : nil
                output(add(packet, payload, of: bytes))
            }
        }
    }

    /// Samples go in packets of 20 ms at most (RFC 3551, 4.2), each with its time.
    private func enqueueSamples(
        _ frame: MediaPacket, _ bytes: UnsafeRawBufferPointer, size: Int, limit: Int, _ first: RTPHistory.Packet,
        _ output: (OutgoingPacket) -> Void
    ) {
        var packet = first
        for part in EqualParts(bytes.count / size, limit: limit) {
            packet.timestamp = first.timestamp &+ UInt32(truncatingIfNeeded: part.lowerBound)
            let samples = bytes.slice(part.lowerBound * size..<part.upperBound * size)
            packetizer.packetize(frame, samples, room: samples.count) { isLast, payload in
                packet.isLastOfFrame = isLast
                output(add(packet, payload, of: bytes))
            }
        }
    }

    private func add(
        _ packet: RTPHistory.Packet, _ payload: Payload, of bytes: UnsafeRawBufferPointer
    ) -> OutgoingPacket {
        var packet = packet
        packet.sequenceNumber = sequenceNumber
        sequenceNumber &+= 1
        packet.carriesMID = packet.isKeyFrame || counters.packets < RTPSender.packetsWithMID
        let header = RTPHeader.size(
            configuration.extensions, midLength: packet.carriesMID ? mid?.count ?? 0 : 0,
            hasOrientation: packet.orientation != nil)
        packet.size = UInt16(header + payload.size)
        history.add(packet, payload, of: bytes)
        counters.packets += 1
        counters.bytes += UInt64(packet.size)
        counters.payloadBytes += UInt64(payload.size)
        return OutgoingPacket(number: packet.sequenceNumber, isResent: false, bytes: Int(packet.size))
    }

    /// Writes a packet that leaves now.
    ///
    /// - Parameters:
    ///   - packet: of ``enqueue(_:at:output:)`` or ``handle(_:at:output:)``; once.
    ///   - memory: takes it; of the maximum size of a packet.
    ///   - now: the time.
    /// - Returns: nil for one that was forgotten, as it waited for so long.
    package func write(
        _ packet: OutgoingPacket, into memory: UnsafeMutableRawBufferPointer, at now: MediaTime
    ) -> RTPPacket? {
        let written = history.send(packet.number, isResent: packet.isResent, at: now) { entry, payload in
            if packet.isResent, case .rtx(let type, let ssrc) = configuration.resending {
                return writeRetransmission(of: entry, payload, payloadType: type, ssrc: ssrc, into: memory)
            }
            let header = RTPHeader(
                payloadType: configuration.payloadType, isMarked: entry.isLastOfFrame,
                sequenceNumber: entry.sequenceNumber, timestamp: entry.timestamp, ssrc: configuration.ssrc)
            let (size, stamps) = header.write(
                into: memory, configuration.extensions, mid: entry.carriesMID ? mid : nil,
                orientation: entry.orientation)
            payload.write(into: memory, at: size)
            return RTPPacket(
                bytes: UnsafeRawBufferPointer(rebasing: memory[..<(size + payload.size)]),
                sequenceNumber: entry.sequenceNumber, payloadSize: payload.size, isLastOfFrame: entry.isLastOfFrame,
                stamps: stamps)
        }
        if packet.isResent, let written { counters.bytesResent += UInt64(written.bytes.count) }
        return written
    }

    /// Sends a frame at once: hands its packets out in their order.
    ///
    /// - Parameters:
    ///   - frame: as for ``enqueue(_:at:output:)``.
    ///   - now: the time.
    ///   - output: takes each packet.
    package func send(_ frame: MediaPacket, at now: MediaTime, output: (RTPPacket) -> Void) {
        enqueue(frame, at: now) { send($0, at: now, output: output) }
    }

    /// Sends a packet at once.
    ///
    /// - Parameters:
    ///   - packet: as for ``write(_:into:at:)``.
    ///   - now: the time.
    ///   - output: takes its bytes, which the next packet overwrites.
    package func send(_ packet: OutgoingPacket, at now: MediaTime, output: (RTPPacket) -> Void) {
        let memory = scratch ?? .allocate(byteCount: configuration.maximumPacketSize, alignment: 16)
        scratch = memory
        if let packet = write(packet, into: memory, at: now) { output(packet) }
    }

    // MARK: Feedback

    /// Takes what a receiver says, and sends again what it lacks.
    ///
    /// - Parameters:
    ///   - event: of any stream; those of others are ignored.
    ///   - now: the time.
    ///   - output: takes the packets that are sent again, which wait for ``write(_:into:at:)``.
    /// - Returns: whether the receiver asks for a key frame.
    package func handle(_ event: RTCPEvent, at now: MediaTime, output: (OutgoingPacket) -> Void) -> Bool {
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

    private func resend(_ number: UInt16, at now: MediaTime, _ output: (OutgoingPacket) -> Void) {
        counters.packetsAsked += 1
        guard configuration.resending != .none else { return }
        let size = history.prepareResend(number, at: now, interval: roundTripTime ?? .zero) { size in
            guard budget.take(size, at: now) else {
                counters.resendsWithheld += 1
                return false
            }
            return true
        }
        guard let size else { return }
        counters.packetsResent += 1
        output(OutgoingPacket(number: number, isResent: true, bytes: size))
    }

    /// RFC 4588, 4: the original number stands before the payload.
    private func writeRetransmission(
        of packet: RTPHistory.Packet, _ payload: Payload, payloadType: UInt8, ssrc: UInt32,
        into memory: UnsafeMutableRawBufferPointer
    ) -> RTPPacket {
        let header = RTPHeader(
            payloadType: payloadType, isMarked: packet.isLastOfFrame, sequenceNumber: resendNumber,
            timestamp: packet.timestamp, ssrc: ssrc)
        resendNumber &+= 1
        let (size, stamps) = header.write(into: memory, configuration.extensions, mid: mid, orientation: nil)
        memory.write(packet.sequenceNumber, at: size)
        payload.write(into: memory, at: size + 2)
        return RTPPacket(
            bytes: UnsafeRawBufferPointer(rebasing: memory[..<(size + 2 + payload.size)]),
            sequenceNumber: header.sequenceNumber, payloadSize: 2 + payload.size,
            isLastOfFrame: packet.isLastOfFrame, stamps: stamps)
    }

    /// Writes a packet that the receiver has, or will soon have, and leaves out: the newest one, in the stream of
    /// retransmissions.
    ///
    /// - Parameters:
    ///   - memory: takes it; of the maximum size of a packet.
    ///   - now: the time.
    /// - Returns: nil without such a stream, or before a packet.
    package func writePadding(into memory: UnsafeMutableRawBufferPointer, at now: MediaTime) -> RTPPacket? {
        guard case .rtx(let type, let ssrc) = configuration.resending else { return nil }
        let written = history.last(at: now) { packet, payload in
            writeRetransmission(of: packet, payload, payloadType: type, ssrc: ssrc, into: memory)
        }
        if written != nil { counters.paddingPackets += 1 }
        return written
    }
}
