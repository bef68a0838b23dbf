import CLibAV
import FFmpegSupport
import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One output of the library, from its opening to its end. Used by one thread at a time.
final class ContainerWriter {
    /// How long a header waits for the first packets of all tracks, in packets.
    private static let maximumWaiting = 512

    /// Whether the header has been written, so that packets flow.
    private(set) var hasBegun = false
    /// Packets that the library has taken.
    private(set) var packetsWritten: UInt64 = 0
    /// How many packets each track has, in their order, and how long the last one is presented.
    var ends: [(packets: UInt64, duration: Duration)] { tracks.map(\.end) }
    /// The longest time between two packets of a track.
    private(set) var longestStep = Duration.zero
    /// The bytes of the file before any packet.
    private var headerBytes: Int64 = 0

    private let target: OutputTarget
    private let limit: WaitLimit
    private let timeout: Duration
    private let context: UnsafeMutablePointer<AVFormatContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    /// The file, where the library does not open the output itself.
    private let sink: ByteSink?
    private let file: OutputFile?
    private var options: FFmpegOptions
    private var userOptions: Set<String>
    private var tracks: [MuxedTrack]
    private var interleaver: PacketInterleaver
    /// Packets that wait for the header.
    private var waiting: [MediaPacket] = []
    /// The time that is zero in the output; nil before the first packet is written.
    private var epoch: MediaTime?
    /// The bytes of a packet with the zeros behind them that the library's parsers read.
    private var scratch: UnsafeMutableRawBufferPointer
    private var hasEnded = false
    /// Of the files that the library opens itself.
    private let files = UnsafeMutablePointer<clibav_files>.allocate(capacity: 1)

    /// - Parameters:
    ///   - target: where to.
    ///   - tracks: checked before.
    ///   - file: the open file of a target of that kind.
    ///   - options: the user's.
    ///   - overwrites: whether files that the library opens itself replace others.
    ///   - limit: ends waits.
    ///   - timeout: how long a call may wait for a peer.
    init(
        _ target: OutputTarget, _ tracks: [TrackDescription], file: OutputFile?, options: [String: String],
        overwrites: Bool = false, limit: WaitLimit, timeout: Duration
    ) throws(MediaFileError) {
        let sink = try file.map { file throws(MediaFileError) in try ByteSink(file) }
        var made: UnsafeMutablePointer<AVFormatContext>?
        guard avformat_alloc_output_context2(&made, target.container, nil, target.url) >= 0, let context = made else {
            throw .outOfMemory(target.name)
        }
        guard let packet = av_packet_alloc() else {
            avformat_free_context(context)
            throw .outOfMemory(target.name)
        }
        self.target = target
        self.limit = limit
        self.timeout = timeout
        self.context = context
        self.packet = packet
        self.file = file
        self.tracks = tracks.map { MuxedTrack($0, container: target.containerName) }
        self.sink = sink
        interleaver = PacketInterleaver(tracks.map(\.id))
        userOptions = Set(options.keys)
        self.options = FFmpegOptions(target.options.merging(options) { _, user in user })
        scratch = .allocate(byteCount: 64 * 1024, alignment: 64)
        context.pointee.interrupt_callback = limit.callback
        context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
        files.initialize(to: clibav_files())
        files.pointee.overwrites = overwrites ? 1 : 0
        if target.kind == .files { clibav_watch_files(context, files) }
        if let sink { context.pointee.pb = sink.context }
    }

    deinit {
        // What was sent is sent; a peer that is gone is not to be waited for.
        limit.begin(.zero)
        // The only way to have RTSP close its sockets.
        if hasBegun, !hasEnded, target.kind == .network { av_write_trailer(context) }
        if sink == nil, !target.opensItself, context.pointee.pb != nil { avio_closep(&context.pointee.pb) }
        avformat_free_context(context)
        files.deallocate()
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        scratch.deallocate()
    }

    /// Connects a network output, unless the library does that with the header.
    ///
    /// - Parameter timeout: how long that may take; nil for indefinitely.
    func connect(within timeout: Duration?) throws(MediaFileError) {
        guard target.kind == .network, !target.opensItself else { return }
        limit.begin(timeout)
        let result = avio_open2(
            &context.pointee.pb, target.url, AVIO_FLAG_WRITE, &context.pointee.interrupt_callback, &options.dictionary)
        try check(result, "connect", timeout)
    }

    /// Writes a packet; the header before the first.
    func write(_ packet: MediaPacket) throws {
        guard let index = index(of: packet.track) else {
            throw MediaFileError.muxing(
                .formatUnsupported, "write a packet", target.name,
                "A packet belongs to track \(packet.track.rawValue), with which the output was not begun.")
        }
        let packet = tracks[index].placed(packet)
        guard !hasBegun else { return try interleave(packet) }
        try tracks[index].learn(from: packet, target.name)
        waiting.append(packet)
        guard tracks.allSatisfy(\.isKnown) else {
            guard waiting.count < ContainerWriter.maximumWaiting else {
                throw MediaFileError.muxing(
                    .stalled, "begin the output", target.name,
                    "A track of pictures has given no packet, while the others gave \(waiting.count).")
            }
            return
        }
        try begin()
        let packets = waiting
        waiting = []
        for packet in packets { try interleave(packet) }
    }

    /// Writes what is still to be written, and the end. Nothing without packets.
    func finish() throws {
        guard hasBegun, !hasEnded else { return }
        var interleaver = interleaver
        try interleaver.flush { try put($0) }
        hasEnded = true
        limit.begin(timeout)
        try check(av_write_trailer(context), "finish the output", timeout)
        try endRecord()
        guard sink == nil, !target.opensItself else { return }
        // SRT drops what the receiver holds back for its latency, 120 ms unless told otherwise, when it is closed.
        if target.url.hasPrefix("srt:") { usleep(300_000) }
        limit.begin(timeout)
        try check(avio_closep(&context.pointee.pb), "finish the output", timeout)
    }

    /// The time that a packet makes zero if it is the first: no time is to be negative, except where an edit list says that
    /// what a decoder gives first is not to be played.
    private func zero(_ packet: MediaPacket) -> MediaTime {
        let delay = target.isFragmented ? index(of: packet.track).map { tracks[$0].decoderDelay } : nil
        return (packet.decodeTimestamp ?? packet.timestamp).advanced(by: delay ?? .zero)
    }

    private func index(of track: TrackID) -> Int? { tracks.firstIndex { $0.description.id == track } }

    private func begin() throws(MediaFileError) {
        for track in tracks {
            guard let stream = avformat_new_stream(context, nil), track.describe(stream, isFile: file != nil) else {
                throw .outOfMemory(target.name)
            }
        }
        limit.begin(timeout)
        let result = avformat_write_header(context, &options.dictionary)
        try check(result, "begin the output", timeout)
        hasBegun = true
        let unknown = options.names.filter(userOptions.contains)
        guard unknown.isEmpty else {
            throw .muxing(
                .formatUnsupported, "begin the output", target.name,
                "Neither the container \(target.containerName) nor the protocol has the option "
                    + "\(unknown.joined(separator: ", ")); check its spelling.")
        }
        epoch = waiting.map(zero).min()
        try endRecord()
        markHeader()
    }

    private func interleave(_ packet: MediaPacket) throws {
        // Moved out, since its output changes this object.
        var interleaver = interleaver
        self.interleaver = PacketInterleaver([])
        defer { self.interleaver = interleaver }
        try interleaver.add(packet) { try put($0) }
    }

    private func put(_ media: MediaPacket) throws(MediaFileError) {
        guard media.data.count > 0, let index = index(of: media.track), let stream = context.pointee.streams[index]
        else {
            return
        }
        // The first packet is the earliest of all tracks.
        let epoch = packetsWritten == 0 ? min(epoch ?? zero(media), zero(media)) : epoch ?? zero(media)
        self.epoch = epoch
        let last = tracks[index].lastTime
        let times = tracks[index].times(of: media, since: epoch, stream.pointee.time_base)
        if last != .min { try bridge(times.decoding - last, at: last, stream) }
        let count = media.data.count
        let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
        if scratch.count < count + padding {
            scratch.deallocate()
            scratch = .allocate(byteCount: (count + padding) * 3 / 2, alignment: 64)
        }
        media.data.withUnsafeBytes { scratch.copyMemory(from: $0) }
        UnsafeMutableRawBufferPointer(rebasing: scratch[count..<count + padding]).initializeMemory(
            as: UInt8.self, repeating: 0)
        packet.pointee.data = scratch.baseAddress!.assumingMemoryBound(to: UInt8.self)
        packet.pointee.size = Int32(clamping: count)
        packet.pointee.stream_index = Int32(index)
        packet.pointee.pts = times.presentation
        packet.pointee.dts = times.decoding
        // For the length of the last segment the HLS muxer adds up durations, and leaves out the time between packets.
        let isSegmented =
            target.containerName == "hls" && stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO
        packet.pointee.duration = isSegmented && last != .min ? times.decoding - last : times.duration
        packet.pointee.flags =
            (media.isKeyFrame ? AV_PKT_FLAG_KEY : 0) | (media.isDroppable ? AV_PKT_FLAG_DISPOSABLE : 0)
        if target.containerName == "matroska" { clibav_discard_end(packet, Int32(tracks[index].padding(of: media))) }
        try writePacket()
        try endRecord()
        if packetsWritten == 0 { markHeader() }
        packetsWritten += 1
        tracks[index].didWrite(media)
    }

    private func writePacket() throws(MediaFileError) {
        limit.begin(timeout)
        let result = av_write_frame(context, packet)
        av_packet_free_side_data(packet)
        packet.pointee.data = nil
        packet.pointee.size = 0
        try check(result, "write a packet", timeout)
    }

    /// The samples of MP4 and MOV have a length of 31 bits: 6.6 hours. A longer pause lies between two fragments, of which each
    /// states its time in 64 bits.
    private func bridge(
        _ step: Int64, at last: Int64, _ stream: UnsafeMutablePointer<AVStream>
    ) throws(MediaFileError) {
        let unit = stream.pointee.time_base
        longestStep = max(
            longestStep, .nanoseconds(av_rescale_q(step, unit, AVRational(num: 1, den: 1_000_000_000))))
        guard target.isFragmented, step >= Int64(Int32.max) else { return }
        limit.begin(timeout)
        try check(av_write_frame(context, nil), "end a fragment", timeout)
        av_opt_set(context.pointee.priv_data, "movflags", "+frag_discont", 0)
        // The library takes the flag with a packet whose time it accepts; one without bytes is not written.
        packet.pointee.data = scratch.baseAddress!.assumingMemoryBound(to: UInt8.self)
        packet.pointee.stream_index = stream.pointee.index
        packet.pointee.pts = last + 1
        packet.pointee.dts = last + 1
        packet.pointee.duration = 0
        try writePacket()
    }

    /// Called with the header, and with the first packet, which waits in memory for others; it may bring the header.
    private func markHeader() {
        if target.gathersPackets { headerBytes = file?.bytesWritten ?? 0 }
    }

    /// Whether the file has no packet that can be played, such as one on a disk that was full within the first second.
    var isFileEmpty: Bool { (file?.bytesWritten ?? 0) <= headerBytes }

    private func endRecord() throws(MediaFileError) {
        try sink?.endRecord()
        try check(files.pointee.error, "write a segment", timeout)
        // Errors of the library's blocks show only here.
        guard let error = context.pointee.pb?.pointee.error, error < 0 else { return }
        try check(error, "write a packet", timeout)
    }

    private func check(_ result: Int32, _ operation: String, _ timeout: Duration?) throws(MediaFileError) {
        guard result < 0 else { return }
        if let failure = file?.failure { throw failure }
        // Some protocols turn the end of a wait into another error.
        let code = target.kind == .network && limit.isOver ? clibav_interrupted : result
        throw MediaFileError(av: code, operation, target, limit: timeout, isCancelled: limit.isCancelled)
    }
}
