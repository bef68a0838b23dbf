import Digests
import PacketCapturing

extension ConformanceTrial<PacketMedium> {
    /// A new capture with a consumer, initialized, which is released after the check.
    private func make(_ consumer: any PacketCaptureConsumer) throws -> any PacketCapture {
        let capture = try make()
        capture.packetCaptureConsumer = consumer
        try initialize(capture)
        return capture
    }

    /// Waits for packets; see ``waitFor(_:_:after:of:seen:sleep:)``.
    @discardableResult
    private func awaitPackets(
        _ count: Int, after before: Int = 0, of capture: any PacketCapture, at probe: PacketProbe
    ) throws -> Bool {
        try waitFor(count, "packet", after: before, of: capture, seen: { probe.count })
    }

    /// The packets of several starts, at least `count` of each.
    private func record(starts: Int, packets count: Int) throws -> (capture: any PacketCapture, starts: [[MediaPacket]])
    {
        let probe = PacketProbe()
        let capture = try make(probe)
        var result: [[MediaPacket]] = []
        for _ in 0..<starts {
            let before = probe.count
            try start(capture)
            try awaitPackets(count, after: before, of: capture, at: probe)
            try stop(capture)
            result.append(Array(probe.items.dropFirst(before)))
        }
        return (capture, result)
    }
}

/// The sentences about tracks and packets, which pictures do not have.
extension ConformanceTrial<PacketMedium> {
    func checkTracksAreDescribed() throws {
        let capture = try make(PacketProbe())
        let tracks = capture.captureSettings().tracks
        try require(!tracks.isEmpty, "The settings describe no track after init.")
        try require(Set(tracks.map(\.id)).count == tracks.count, "Two tracks have the same identifier.")
        for track in tracks {
            if case .video(let video) = track.media {
                try require(
                    video.width > 0 && video.height > 0,
                    "Track \(track.id.rawValue) has the size \(video.width)x\(video.height).")
            }
            guard [.h264, .aac, .opus].contains(track.codec) else { continue }
            let header = track.decoderConfiguration?.withUnsafeBytes { Array($0.prefix(8)) } ?? []
            try require(!header.isEmpty, "Track \(track.id.rawValue) of \(track.codec) has no decoder configuration.")
            try require(
                track.codec != .h264 || header[0] == 1,
                "The decoder configuration of track \(track.id.rawValue) is no avcC.")
        }
    }

    func checkPacketsFit() throws {
        let (capture, starts) = try record(starts: 1, packets: 24)
        let known = Set(capture.captureSettings().tracks.map(\.id))
        for packet in starts.flatMap({ $0 }) {
            try require(known.contains(packet.track), "A packet names track \(packet.track.rawValue), of \(known).")
            try require(packet.data.count > 0, "A packet has no byte.")
        }
    }

    func checkDecodeTimesIncrease() throws {
        let packets = try record(starts: 3, packets: 16).starts.flatMap { $0 }
        try forEachPair(packets) { earlier, later in
            try require(
                later.decodeTime > earlier.decodeTime,
                "On track \(later.track.rawValue) \(later.decodeTime) follows \(earlier.decodeTime).")
        }
    }

    func checkPresentedAfterDecoding() throws {
        for packet in try record(starts: 2, packets: 24).starts.flatMap({ $0 }) {
            try require(
                packet.timestamp >= packet.decodeTime,
                "A packet is presented at \(packet.timestamp), and decoded at \(packet.decodeTime).")
        }
    }

    func checkNumbersIncrease() throws {
        let packets = try record(starts: 3, packets: 16).starts.flatMap { $0 }
        try forEachPair(packets) { earlier, later in
            try require(
                later.sequenceNumber > earlier.sequenceNumber,
                "On track \(later.track.rawValue) \(later.sequenceNumber) follows \(earlier.sequenceNumber).")
        }
    }

    /// Losses are provoked: by taking the consumer away, and by restarts. The counts are read with each packet.
    func checkLossesAreCounted() throws {
        let samples = Locked<[TrackID: [(number: UInt64, lost: UInt64)]]>([:])
        let held = Locked<(any PacketCapture)?>(nil)
        defer { held.withLock { $0 = nil } }
        let probe = PacketProbe { packet, number in
            guard number < 400, let capture = held.withLock({ $0 }),
                let track = capture.statistics.tracks.first(where: { $0.id == packet.track })
            else { return }
            let lost = track.packetsLost.total
            samples.withLock { $0[packet.track, default: []].append((packet.sequenceNumber, lost)) }
        }
        let capture = try make(probe)
        held.withLock { $0 = capture }
        try provokeLosses(capture, probe)
        for (track, seen) in samples.withLock({ $0 }) {
            for (earlier, later) in zip(seen, seen.dropFirst()) {
                let gap = later.number &- earlier.number &- 1
                try require(
                    gap == later.lost &- earlier.lost,
                    "On track \(track.rawValue) \(later.lost &- earlier.lost) packets were counted as lost between the "
                        + "numbers \(earlier.number) and \(later.number).")
            }
        }
    }

    func checkLossesEndAtKeyFrames() throws {
        let probe = PacketProbe()
        let capture = try make(probe)
        let starts = try provokeLosses(capture, probe)
        let packets = probe.items
        let pictures = Set(capture.captureSettings().tracks.filter(\.isVideo).map(\.id))
        for start in starts {
            for track in pictures {
                guard let first = packets.dropFirst(start).first(where: { $0.track == track }) else { continue }
                try require(first.isKeyFrame, "The first packet after a start is not a key frame.")
            }
        }
        try forEachPair(packets.filter { pictures.contains($0.track) }) { earlier, later in
            try require(
                later.sequenceNumber == earlier.sequenceNumber &+ 1 || later.isKeyFrame,
                "After a loss, between the numbers \(earlier.sequenceNumber) and \(later.sequenceNumber), comes no key "
                    + "frame.")
        }
    }

    /// Restarts, and takes the consumer away for a while in each; returns the number of the first packet of each start.
    @discardableResult
    private func provokeLosses(_ capture: any PacketCapture, _ probe: PacketProbe) throws -> [Int] {
        var starts: [Int] = []
        for _ in 1...4 {
            let before = probe.count
            starts.append(before)
            try start(capture)
            try awaitPackets(6, after: before, of: capture, at: probe)
            capture.packetCaptureConsumer = nil
            pause(.milliseconds(40))
            capture.packetCaptureConsumer = probe
            if capture.isCaptureStarted { _ = try? awaitPackets(2, after: probe.count, of: capture, at: probe) }
            try stop(capture)
        }
        return starts
    }

    func checkByteStreams() throws {
        let (capture, starts) = try record(starts: 1, packets: 24)
        let kinds = capture.captureSettings().tracks.filter { ["h264", "hevc"].contains($0.codec.rawValue) }
        guard !kinds.isEmpty else { throw Finding.notApplicable("No track is of H.264 or H.265.") }
        for packet in starts.flatMap({ $0 }) {
            guard let track = kinds.first(where: { $0.id == packet.track }) else { continue }
            let bytes = packet.data.withUnsafeBytes { Array($0.prefix(4096)) }
            try require(
                bytes.starts(with: [0, 0, 1]) || bytes.starts(with: [0, 0, 0, 1]),
                "A packet of \(track.codec) does not begin with a start code.")
            guard packet.isKeyFrame else { continue }
            let hasSets = zip(bytes, zip(bytes.dropFirst(), zip(bytes.dropFirst(2), bytes.dropFirst(3)))).contains {
                let (first, (second, (third, header))) = $0
                guard first == 0, second == 0, third == 1 else { return false }
                return track.codec == .h264 ? header & 0x1F == 7 : header >> 1 & 0x3F == 33
            }
            try require(hasSets, "A key frame of \(track.codec) comes without parameter sets.")
        }
    }

    func checkKeptPacketsStay() throws {
        let kept = Locked<(packets: [MediaPacket], digests: [String])>(([], []))
        let probe = PacketProbe { packet, number in
            guard number < 6 else { return }
            let digest = ConformanceTrial.digest(packet.data)
            kept.withLock { kept in
                kept.packets.append(packet)
                kept.digests.append(digest)
            }
        }
        let capture = try make(probe)
        try start(capture)
        // More than a pool holds.
        try awaitPackets(150, of: capture, at: probe)
        note("releaseCapture")
        capture.releaseCapture()
        let (packets, digests) = kept.withLock { $0 }
        for (packet, digest) in zip(packets, digests) {
            try require(ConformanceTrial.digest(packet.data) == digest, "A packet that was kept changed.")
        }
    }

    private static func digest(_ buffer: PacketBuffer) -> String {
        var digest = MD5()
        buffer.withUnsafeBytes { digest.update($0) }
        return digest.hexDigest
    }

    func checkSettingsAreTrue() throws {
        let probe = PacketProbe()
        let capture = try make(probe)
        func seen() -> [String] {
            let settings = capture.captureSettings()
            return [settings.sourceName ?? ""] + settings.tracks.map { "\($0.id.rawValue) \($0.codec) \($0.media)" }
        }
        let settled = seen()
        try start(capture)
        try awaitPackets(8, of: capture, at: probe)
        try stop(capture)
        try require(seen() == settled, "The settings after init were \(settled), and after stop \(seen()).")
        for track in capture.captureSettings().tracks {
            guard case .video(let video) = track.media else { continue }
            let sizes = probe.items.filter { $0.track == track.id && $0.isKeyFrame }.map { ($0.width, $0.height) }
            guard let first = sizes.first else { continue }
            try require(
                first == (video.width, video.height),
                "The settings say \(video.width)x\(video.height), and the first packet \(first.0)x\(first.1).")
        }
    }

    func checkIsDestroyed() throws {
        let probe = PacketProbe()
        try checkIsDestroyed { capture in
            capture.packetCaptureConsumer = probe
            try initialize(capture)
            try start(capture)
            try awaitPackets(1, of: capture, at: probe)
        }
    }

    func checkConsumerIsWeak() throws {
        let capture = try make(PacketProbe())
        try checkIsReleased {
            let probe = PacketProbe()
            capture.packetCaptureConsumer = probe
            try start(capture)
            try awaitPackets(2, of: capture, at: probe)
            return probe
        }
        try require(capture.packetCaptureConsumer == nil, "The consumer is gone, but the capture names one.")
    }

    /// Calls `body` with each two packets that follow each other on a track.
    private func forEachPair(_ packets: [MediaPacket], _ body: (MediaPacket, MediaPacket) throws -> Void) throws {
        for track in Set(packets.map(\.track)) {
            let own = packets.filter { $0.track == track }
            for (earlier, later) in zip(own, own.dropFirst()) { try body(earlier, later) }
        }
    }
}

extension MediaPacket {
    fileprivate var decodeTime: MediaTime { decodeTimestamp ?? timestamp }
}

typealias PacketProbe = MediaProbe<MediaPacket>

extension PacketProbe: PacketCaptureConsumer {
    func consumePacket(_ packet: MediaPacket) { consume(packet) }
}
