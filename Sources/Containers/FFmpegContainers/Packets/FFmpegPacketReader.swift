import CLibAV
import FFmpegSupport
import MediaContainers
import PacketCapturing

/// Reads the packets of a file in the form that the house passes on, with times on the file's scale.
///
/// The first packets are read ahead, since some containers state what a decoder needs only in them. Not thread-safe.
final class FFmpegPacketReader {
    /// The tracks, complete.
    var tracks: [TrackDescription] { streams.map(\.description) }

    private let path: String
    private let demuxer: Demuxer
    private let streams: [PacketStream]
    private let packet: UnsafeMutablePointer<AVPacket>
    private let pool = PacketBufferPool(capacity: 96)
    /// Packets that are read, and how many of them have been returned.
    private var ready: [MediaPacket] = []
    private var returned = 0
    private var end: Int32?
    /// The packets of each track that were too damaged to be passed on, since the last call of ``takeLosses()``.
    private var lost: [TrackID: Int] = [:]

    /// How many packets are read ahead for the description of a track.
    private static let maximumReadAhead = 512

    /// Opens a file and reads ahead until all tracks are described.
    ///
    /// - Throws: as `Demuxer`, and `formatUnsupported` for tracks that are encrypted or without times.
    init(_ request: FrameReaderFactory.Request) throws(MediaFileError) {
        let demuxer = try Demuxer(request, .all)
        path = request.file?.path ?? request.path
        self.demuxer = demuxer
        guard let packet = av_packet_alloc() else { throw .outOfMemory(path) }
        self.packet = packet
        var streams: [PacketStream] = []
        for (number, index) in demuxer.indices.enumerated() {
            guard let stream = demuxer.context.pointee.streams[Int(index)] else { continue }
            do {
                streams.append(
                    try PacketStream(stream, TrackID(rawValue: UInt32(number)), demuxer.pixelAspect(of: stream), path))
            } catch {
                var packet: UnsafeMutablePointer<AVPacket>? = packet
                av_packet_free(&packet)
                throw error
            }
        }
        self.streams = streams
        while !streams.allSatisfy(\.isKnown), ready.count < FFmpegPacketReader.maximumReadAhead, end == nil {
            try readNext()
        }
        if let unknown = streams.first(where: { !$0.isKnown }) {
            throw .corrupt(
                path,
                "The track of \(unknown.description.codec) does not say how to decode it; check that the file was "
                    + "written to its end.")
        }
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }

    /// The largest step of the times that is a pause; nil for any.
    var largestStep: Duration? { AllowedFormats.largestStep(demuxer.name) }

    /// When the first track begins, in nanoseconds on the time line of the packets.
    var start: Int64 { streams.first?.start ?? 0 }

    /// The length of the first track, as the file states it, or that of the file after its begin; nil where there is neither.
    var statedDuration: Duration? {
        let context = demuxer.context.pointee
        guard context.duration_estimation_method != AVFMT_DURATION_FROM_BITRATE, context.duration != clibav_no_time,
            context.duration > 0
        else { return nil }
        if let own = streams.first?.statedDuration { return own }
        // Sound may begin earlier, by as much as it came late in the file before. Matroska counts from zero.
        let isFromZero = demuxer.name.hasPrefix("matroska") || context.start_time == clibav_no_time
        let early = isFromZero ? start : start - context.start_time * 1000
        return max(.zero, .microseconds(context.duration) - .nanoseconds(max(0, early)))
    }

    /// Goes to the last key frame not later than a time by the index of the file; without one to its beginning.
    ///
    /// - Parameter nanoseconds: on the time line of the packets.
    func seek(to nanoseconds: Int64) {
        let stream = demuxer.stream.pointee
        let target = av_rescale_q(nanoseconds, AVRational(num: 1, den: 1_000_000_000), stream.time_base)
        guard AllowedFormats.haveIndex(demuxer.name),
            av_seek_frame(demuxer.context, stream.index, target, AVSEEK_FLAG_BACKWARD) >= 0
        else { return }
        demuxer.forgetReadError()
        for stream in streams { stream.forget() }
        (ready, returned, end) = ([], 0, nil)
    }

    /// The next packet; nil at the end.
    ///
    /// - Throws: `corruptData` when the file is damaged or cut off, after its packets; `interrupted` when a wait for a pipe
    ///   was, after which the next call goes on.
    func next() throws(MediaFileError) -> MediaPacket? {
        while returned == ready.count {
            if let end {
                guard let failure = failure(atEnd: end) else { return nil }
                throw failure
            }
            ready.removeAll(keepingCapacity: true)
            returned = 0
            try readNext()
        }
        let packet = ready[returned]
        returned += 1
        // The delay of a decoder may be known only since the packet was read.
        return streams.first { $0.description.id == packet.track }?.placed(packet) ?? packet
    }

    /// Reads one packet of the file, and takes what it gives.
    private func readNext() throws(MediaFileError) {
        var retries = 0
        while true {
            let result = try demuxer.read(into: packet)
            if result == clibav_again, retries < 1000 {
                retries += 1
                continue
            }
            guard result >= 0 else {
                end = result
                for stream in streams { try stream.filter(nil, pool, into: &ready) }
                return
            }
            defer { av_packet_unref(packet) }
            if clibav_is_encrypted(packet) != 0 {
                throw .unsupported(path, "The file is encrypted; decrypt it first, with the program it is meant for.")
            }
            guard let number = demuxer.indices.firstIndex(of: packet.pointee.stream_index) else { continue }
            do throws(MediaFileError) {
                return try streams[number].filter(packet, pool, into: &ready)
            } catch {
                // A decoder goes on after a damaged packet too.
                guard error.code == .corruptData else { throw error }
                lost[streams[number].description.id, default: 0] += 1
            }
        }
    }

    /// How many packets of each track were too damaged to be passed on, since the last call.
    func takeLosses() -> [TrackID: Int] {
        guard !lost.isEmpty else { return [:] }
        defer { lost = [:] }
        return lost
    }

    /// What the end of reading means; nil when it is the file's.
    private func failure(atEnd code: Int32) -> MediaFileError? {
        if let error = demuxer.readError { return error }
        if let missing = demuxer.missingPart() { return missing }
        guard code != clibav_end, !demuxer.endsWithBoundary else { return nil }
        return .corrupt(
            path, "The file is damaged or cut off (\(describeAV(code))); the packets before that are whole.")
    }
}
