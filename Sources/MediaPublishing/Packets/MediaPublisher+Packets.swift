import AudioCapturing
public import PacketCapturing
public import VideoCapturing

extension MediaPublisher {
    /// A publisher of packets as they come, without outputs: what a camera, a stream or a file has encoded is passed on to
    /// each output that takes it, pictures and sound; nothing is decoded or encoded.
    ///
    /// ```swift
    /// let publisher = MediaPublisher(packets: PacketFileCapturer(path: "film.mp4"))
    /// try publisher.add(FFmpegOutput("film.mkv"))
    /// try publisher.start()
    /// ```
    /// An output that cannot take the packets fails before anything is opened. A new one begins with a key frame. Files get
    /// every packet; live outputs lose whole groups of pictures when they are too slow.
    ///
    /// With a decoder for the pictures, outputs of frames, and those with settings of their own, get decoded frames, without
    /// sound. A live output that cannot take the packets has an encoder of ``Settings/encoders``, and the publisher says so
    /// (``Event/warning(_:)``). All of them, and the consumers of ``video``, share one decoder, which exists only while there are
    /// any.
    ///
    /// - Parameters:
    ///   - packets: what is published; the publisher sets its consumer, and releases it in the end.
    ///   - decoders: the decoders that the program links; empty for none.
    ///   - settings: how to publish. The limits count packets of the leading track.
    public convenience init(
        packets: any PacketCapture, decoders: [VideoDecoderFactory] = [], settings: Settings = Settings()
    ) {
        self.init(
            video: PacketsAsVideo(packets, decoders, orientation: settings.orientation), audio: nil, hasVideo: true,
            settings, packets: packets)
    }

    /// The tracks that are passed on; empty for a publisher of frames, and before the capture is initialized.
    public var tracks: [TrackDescription] { passing?.tracks ?? [] }

    /// Codecs of pictures that outputs get as they are without being asked to. Others are meant for single pictures, or are large.
    private static let commonCodecs: [Codec] = [.h264, .vp8] + ["hevc", "vp9", "av1"].map { Codec(rawValue: $0) }

    /// Why the packets do not suit the outputs, in a sentence; nil where each output gets its packets, or takes no sound and gets
    /// decoded frames. Known once the capture is initialized.
    package var reasonToDecode: String? {
        guard let passing else { return nil }
        let records = state.withLock { $0.records }
        let hasSound = passing.tracks.contains { !$0.isVideo }
        var passes = false
        var firstReason: String?
        // A companion of an output counts for the sound that it would have.
        for record in records where !record.output.isAuxiliary || hasSound && record.output.audioFeed != nil {
            do throws(CannotPass) {
                let route = try route(to: record, of: passing.tracks)
                if let loss = route.loss { return "\(record.output.name): \(loss)" }
                passes = true
            } catch {
                let needsSound = hasSound && record.output.audioFeed != nil
                let reason = "\(record.output.name): \(error.reason)"
                if needsSound || !decodes(for: record, passing) { return reason }
                firstReason = firstReason ?? reason
            }
        }
        return passes ? nil : firstReason ?? "no output takes packets."
    }

    /// Sorts outputs of a publisher of packets, and compares the tracks first, so that no file is created for nothing.
    ///
    /// - Returns: the outputs that packets are passed on to, with their tracks; and those that need frames.
    func sort(
        _ records: [OutputRecord], passing: PacketFanOut
    ) throws -> (passed: [(OutputRecord, [TrackDescription])], framed: [OutputRecord]) {
        let all = passing.tracks
        var passed: [(OutputRecord, [TrackDescription])] = []
        var framed: [OutputRecord] = []
        for record in records {
            do throws(CannotPass) {
                let route = try route(to: record, of: all)
                if let reason = route.loss ?? route.reasonForSilence {
                    post(.warning("\(record.output.name) has no sound: \(reason)"))
                }
                if !record.output.feed.statesOrientation, route.tracks.contains(where: \.isTurned) {
                    post(
                        .warning(
                            "\(record.output.name): \(record.output.kind) does not state how its pictures are turned, and "
                                + "players show them as the camera took them; encode them, or choose MP4 or MOV."))
                }
                passed.append((record, route.tracks))
            } catch {
                guard takesFrames(record, passing, because: error) else {
                    throw OptionError("output", record.output.name, error.reason)
                }
                record.state.withLock { $0.reasonToDecode = error.reason }
                framed.append(record)
            }
        }
        return (passed, framed)
    }

    /// Whether the pictures can be decoded for an output.
    private func decodes(for record: OutputRecord, _ passing: PacketFanOut) -> Bool {
        guard let track = passing.capture.captureSettings().leadingTrack, track.isVideo else { return false }
        return passing.decodes(track) && record.output.feed != .noVideo
    }

    /// Whether an output that cannot take the packets gets decoded frames.
    private func takesFrames(_ record: OutputRecord, _ passing: PacketFanOut, because error: CannotPass) -> Bool {
        guard decodes(for: record, passing) else { return false }
        switch record.output.feed {
        case .frames: return true
        case .noVideo: return false
        case .packets where settings.mayEncode || record.frames != FrameSettings() || record.encoding != nil:
            return true
        case .packets(let feed):
            guard feed.purpose == .live else { return false }
            // There may never be a receiver.
            guard !feed.servesReceivers else { return true }
            post(
                .warning(
                    "\(record.output.name): the pictures are decoded, and encoded again for it: "
                        + "\(error.reason.prefix { $0 != ";" })."))
            return true
        }
    }

    /// Opens outputs of packets and connects them.
    func connect(_ records: [(OutputRecord, [TrackDescription])], passing: PacketFanOut) throws {
        let count = state.withLock { $0.records.count { !$0.output.isAuxiliary } }
        var opened: [(OutputRecord, [TrackDescription], any PacketSink)] = []
        for (record, tracks) in records {
            let destination = try record.output.open(try context(of: record, passing: tracks))
            record.state.withLock { $0.isOpen = true }
            switch destination {
            case .sink(let sink) where record.output.feed.isForPeers:
                let receivers = makeReceivers(of: record, tracks, passing)
                _ = receivers.add(sink, name: record.output.name)
                opened.append((record, tracks, receivers))
            case .sink(let sink): opened.append((record, tracks, sink))
            case .receivers: opened.append((record, tracks, makeReceivers(of: record, tracks, passing)))
            case .consumer, .audioConsumer:
                throw OptionError("output", record.output.name, CannotPass.takesFrames(record.output).reason)
            }
        }
        for (record, tracks, sink) in opened {
            let relay = try passing.add(sink, tracks, policy(for: record, count)) { [weak self, weak record] error in
                if let record { self?.fail(record, error) }
            }
            record.state.withLock { $0.relay = relay }
        }
    }

    private func makeReceivers(
        of record: OutputRecord, _ tracks: [TrackDescription], _ passing: PacketFanOut
    ) -> PacketReceivers {
        let receivers = PacketReceivers(
            tracks, requestKeyFrame: { [weak passing] in passing?.capture.requestKeyFrame() ?? false },
            onFailure: { [weak self, weak record] failure in
                // A receiver that fails ends its own session.
                if let record, failure.sink == record.output.name { self?.fail(record, failure.error) }
            })
        record.state.withLock { $0.receivers = receivers }
        return receivers
    }

    private func policy(for record: OutputRecord, _ count: Int) -> PacketRelay.Policy {
        if case .packets(let feed) = record.output.feed, feed.purpose == .live { return .drop }
        if settings.pacing == .realTime, count > 1, record.output.path != nil, record.output.limitsOwnWaits {
            return .drop
        }
        return .block(timeout: count > 1 && !record.output.limitsOwnWaits ? settings.diskTimeout : nil)
    }

    /// The tracks that an output takes of those that there are.
    ///
    /// - Throws: the reason, and what to do, where it cannot take them.
    private func route(to record: OutputRecord, of all: [TrackDescription]) throws(CannotPass) -> Route {
        let output = record.output
        guard record.frames == FrameSettings(), record.encoding == nil else {
            throw CannotPass(
                reason: "size, rate, text and encoding need frames, and packets are passed on as they come; leave them "
                    + "out, or encode.")
        }
        var route = Route(tracks: all)
        switch output.feed {
        case .frames: throw .takesFrames(output)
        case .packets(let feed)
        where feed.purpose == .live && settings.mayEncode && !(settings.isLive && feed.takesKeyFramesAsTheyCome):
            throw CannotPass(
                reason:
                    "is watched live, and gets key frames when it asks for them; --codec copy passes on all the same.")
        case .packets(let feed) where feed.maximumBitrate != nil:
            throw CannotPass(reason: "has a maximum bitrate, which needs an encoder; leave it out, or encode.")
        case .packets where output.audioFeed == nil:
            route.tracks = all.filter(\.isVideo)
            if route.tracks.count < all.count { route.reasonForSilence = output.silenceReason.map { "\($0)." } }
        case .packets: break
        case .noVideo: route.tracks = all.filter { !$0.isVideo }
        }
        if output.feed.isForPeers {
            let sound = route.tracks.first { !$0.isVideo }
            route.tracks = [route.tracks.first(where: \.isVideo), sound].compactMap { $0 }
        }
        guard !route.tracks.isEmpty else {
            let lacking = output.feed == .noVideo ? "sound" : "pictures"
            throw CannotPass(reason: "is for \(lacking), which the source lacks; choose another output.")
        }
        if settings.mayEncode { try checkPictures(of: all, for: output.feed) }
        guard let problem = output.problem(passing: route.tracks) else { return route }
        let pictures = route.tracks.filter(\.isVideo)
        guard settings.mayEncode || output.feed.isLive, pictures.count < route.tracks.count, !pictures.isEmpty,
            output.problem(passing: pictures) == nil
        else { throw CannotPass(reason: problem) }
        return Route(tracks: pictures, loss: problem)
    }

    /// Refuses pictures that are better encoded, where passing on was not asked for: not all containers say how to show them.
    private func checkPictures(of tracks: [TrackDescription], for feed: OutputContext.Feed) throws(CannotPass) {
        for track in tracks {
            guard case .video(let video) = track.media else { continue }
            let reason: String? =
                if !Self.commonCodecs.contains(track.codec) {
                    "the pictures are \(track.codec)"
                } else if track.isTurned, !feed.statesOrientation {
                    "the pictures are \(video.isMirrored ? "mirrored" : "rotated")"
                } else if !video.pixelAspect.isSquare {
                    "the pixels are not square"
                } else {
                    nil
                }
            if let reason { throw CannotPass(reason: "\(reason); --codec copy passes them on.") }
        }
    }

    /// What each output gets, and why, in a line each; once they are open.
    package var routes: [String] {
        let (records, stages) = state.withLock { ($0.records, $0.stages) }
        return records.filter { !$0.output.isAuxiliary || $0.relay != nil }.map { record in
            let name = record.output.name
            let why = record.state.withLock { $0.reasonToDecode }.map { ": \($0.prefix { $0 != ";" })." } ?? "."
            if let relay = record.relay {
                return
                    "\(name): \(relay.passed.tracks.map(\.rawValue).joined(separator: " and ")), passed on as it comes."
            }
            guard let stage = record.stage, let number = stages.firstIndex(where: { $0 === stage }) else {
                return record.output.feed == .noVideo ? "\(name): sound." : "\(name): frames\(why)"
            }
            let others = records.filter { $0.stage === stage && $0 !== record }.map(\.output.name)
            let shared = others.isEmpty ? "" : ", shared with \(others.joined(separator: ", "))"
            return "\(name): \(stage.codec) of encoder \(number + 1) (\(stage.name))\(shared)\(why)"
        }
    }
}

/// What an output gets as it is.
private struct Route {
    var tracks: [TrackDescription]
    /// Why an output that takes no sound has none.
    var reasonForSilence: String?
    /// Why an output that takes sound does not get this one.
    var loss: String?
}

/// Why packets cannot be passed on to an output, and what to do.
private struct CannotPass: Error {
    var reason: String

    static func takesFrames(_ output: any MediaOutput) -> CannotPass {
        CannotPass(
            reason: "\(output.kind) takes frames, and packets are passed on as they come; choose an output of packets, "
                + "such as film.mkv, or encode.")
    }
}

extension MediaOutput {
    /// By the codecs of ``feed`` and ``audioFeed``.
    public func problem(passing tracks: [TrackDescription]) -> String? {
        var pictures: [Codec] = []
        var sound: [Codec] = []
        if case .packets(let feed) = feed { pictures = feed.codecs }
        if case .packets(let codecs)? = audioFeed { sound = codecs }
        for track in tracks where !(track.isVideo ? pictures : sound).contains(track.codec) {
            let taken = (track.isVideo ? pictures : sound).map(\.rawValue).joined(separator: ", ")
            let media = track.isVideo ? "pictures" : "sound"
            return "\(kind) takes \(media) as \(taken.isEmpty ? "nothing" : taken), and here is \(track.codec); choose "
                + "another output, such as film.mkv, or encode."
        }
        if case .packets(let packets) = feed, !packets.takesReorderedPictures, tracks.contains(where: \.isReordered) {
            return
                "players of \(kind) do not show pictures that are out of order (B-frames); choose another output, or encode."
        }
        return nil
    }
}

extension MediaPublisher.Statistics {
    /// The packets of a capture that were passed on to an output as they came.
    public struct PassedOn: Sendable, Hashable {
        /// The codecs of the tracks that it takes.
        public var tracks: [Codec]
        /// Packets that were written.
        public var packets: UInt64
        /// Their encoded bytes.
        public var bytes: UInt64
        /// Packets that were dropped, since the output was too slow.
        public var packetsDropped: UInt64
    }
}

extension OutputContext.Feed {
    fileprivate var statesOrientation: Bool {
        if case .packets(let feed) = self { feed.statesOrientation } else { false }
    }

    fileprivate var isLive: Bool {
        if case .packets(let feed) = self { feed.purpose == .live } else { false }
    }

    /// Whether it goes to peers of WebRTC, which take one track of pictures and one of sound.
    fileprivate var isForPeers: Bool {
        if case .packets(let feed) = self { feed.needsOwnEncoder } else { false }
    }
}

extension TrackDescription {
    /// Whether its pictures must be rotated or mirrored for display.
    fileprivate var isTurned: Bool {
        guard case .video(let video) = media else { return false }
        return video.orientation != .up || video.isMirrored
    }

    fileprivate var isReordered: Bool {
        if case .video(let video) = media { video.isReordered } else { false }
    }
}
