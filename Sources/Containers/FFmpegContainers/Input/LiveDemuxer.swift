import CLibAV
import FFmpegSupport
import VideoCapturing

extension StreamDemuxerFactory {
    /// Reads what FFmpeg reads: Matroska, MPEG-TS and FLV of any bytes; RTSP, SRT, RTMP, RTP and UDP by their addresses.
    ///
    /// Every wait ends when the capture is stopped, or nothing has come for the timeout. A stream cannot make FFmpeg open
    /// files.
    public static let ffmpeg = StreamDemuxerFactory(name: "FFmpeg") { request throws(CaptureError) in
        try LiveDemuxer(request)
    }
}

/// A stream that FFmpeg reads as it arrives. Not thread-safe.
final class LiveDemuxer: StreamDemuxer {
    let name: String
    let track: TrackDescription

    private let input: LiveInput
    private let context: UnsafeMutablePointer<AVFormatContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let index: Int32
    private let timeBase: AVRational
    /// Parameter sets of a session description, which come before the first packet.
    private var parameterSets: [UInt8]

    /// What a stream is opened for.
    enum Purpose {
        /// Its pictures are shown as soon as possible.
        case frames
        /// Its packets are passed on.
        case packets

        /// The addresses that may be opened.
        var schemes: [String] {
            ["rtsp", "rtsps", "srt", "rtmp", "rtmps", "rtp", "udp"] + (self == .packets ? ["http", "https"] : [])
        }
    }

    private static let protocols = "rtsp,rtsps,rtp,srtp,udp,udplite,tcp,tls,srt,rtmp,rtmps,rtmpt"

    init(_ request: StreamDemuxerFactory.Request) throws(CaptureError) {
        _ = FFmpegLibrary.prepared
        let input = try LiveInput(request)
        self.input = input
        context = try LiveDemuxer.open(input)
        do throws(CaptureError) {
            index = try LiveDemuxer.chooseStream(context, input)
        } catch {
            var context: UnsafeMutablePointer<AVFormatContext>? = context
            avformat_close_input(&context)
            throw error
        }
        guard let packet = av_packet_alloc() else {
            var context: UnsafeMutablePointer<AVFormatContext>? = context
            avformat_close_input(&context)
            throw input.outOfMemory
        }
        self.packet = packet
        let format = context.pointee.iformat.map { String(cString: $0.pointee.name) } ?? ""
        name = LiveDemuxer.displayName(format)
        let stream = context.pointee.streams[Int(index)]!.pointee
        timeBase = stream.time_base
        let parameters = stream.codecpar.pointee
        let header = UnsafeRawBufferPointer(start: parameters.extradata, count: Int(max(0, parameters.extradata_size)))
        let isRecord = parameters.codec_id == AV_CODEC_ID_H264 && header.count > 6 && header[0] == 1
        parameterSets = isRecord || parameters.codec_id != AV_CODEC_ID_H264 ? [] : Array(header)
        track = TrackDescription(
            id: 0, codec: LiveDemuxer.codec(parameters.codec_id),
            media: .video(
                .init(
                    width: Int(parameters.width), height: Int(parameters.height),
                    pixelAspect: PixelAspect(
                        width: Int(stream.sample_aspect_ratio.num), height: Int(stream.sample_aspect_ratio.den))
                        ?? .square)),
            decoderConfiguration: isRecord ? PacketBuffer(copying: header) : nil)
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        var context: UnsafeMutablePointer<AVFormatContext>? = context
        avformat_close_input(&context)
    }

    func nextPacket(
        _ body: (UnsafeRawBufferPointer, Duration?) throws(CaptureError) -> Void
    ) throws(CaptureError) -> Bool {
        if !parameterSets.isEmpty {
            let sets = parameterSets
            parameterSets = []
            // Not the buffer's own, which is not generic over the error in all versions of the standard library.
            let copy = sets.withUnsafeBytes { PacketBuffer(copying: $0) }
            try copy.withUnsafeBytes { (bytes) throws(CaptureError) in try body(bytes, nil) }
        }
        input.beginWait()
        var retries = 0
        while true {
            let result = av_read_frame(context, packet)
            if result == clibav_again, retries < 1000 {
                retries += 1
                continue
            }
            guard result >= 0 else { return try end(result) }
            defer { av_packet_unref(packet) }
            guard packet.pointee.stream_index == index else {
                context.pointee.streams[Int(packet.pointee.stream_index)]?.pointee.discard = AVDISCARD_ALL
                continue
            }
            guard packet.pointee.size > 0 else { continue }
            let bytes = UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size))
            let clock = FrameClock(timeBase: timeBase, start: nil, rate: nil)
            let pts = packet.pointee.pts
            try body(bytes, pts == clibav_no_time ? nil : clock.duration(of: Int128(pts)))
            return true
        }
    }

    private func end(_ code: Int32) throws(CaptureError) -> Bool {
        if let error = input.interruption { throw error }
        if code == clibav_end { return false }
        throw input.error(
            .deviceLost, "The stream is damaged, or the connection lost (\(describeAV(code))); check the sender.")
    }

    // MARK: Opening

    /// Opens a stream, without looking into its packets.
    static func open(
        _ input: LiveInput, for purpose: Purpose = .frames
    ) throws(CaptureError) -> UnsafeMutablePointer<AVFormatContext> {
        guard let made = avformat_alloc_context() else { throw input.outOfMemory }
        var context: UnsafeMutablePointer<AVFormatContext>? = made
        made.pointee.interrupt_callback = AVIOInterruptCB(
            callback: isLiveInputInterrupted, opaque: Unmanaged.passUnretained(input).toOpaque())
        // A live stream is shown as soon as possible, and has one video.
        made.pointee.probesize = purpose == .frames ? 256 << 10 : 5_000_000
        made.pointee.max_analyze_duration = 500_000
        made.pointee.max_streams = 100
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        var format: UnsafePointer<AVInputFormat>?
        var url = ""
        if let bytes = input.context {
            made.pointee.pb = bytes
            clibav_contain(made)
            av_dict_set(&options, "format_whitelist", AllowedFormats.list, 0)
            av_dict_set(&options, "protocol_whitelist", "none", 0)
            if let name = input.request.format { format = av_find_input_format(name) }
        } else {
            url = input.request.url
            let scheme = url.prefix { $0 != ":" }.lowercased()
            guard purpose.schemes.contains(scheme) else {
                avformat_free_context(made)
                throw input.error(
                    .invalidConfiguration,
                    "Streams are read from \(purpose.schemes.joined(separator: ", ")) and tcp, and not from \(scheme).")
            }
            if scheme.hasPrefix("http") {
                // Without lists of other addresses.
                av_dict_set(&options, "format_whitelist", AllowedFormats.list, 0)
                av_dict_set(&options, "protocol_whitelist", "http,https,httpproxy,tls,tcp", 0)
                av_dict_set(&options, "tls_verify", "1", 0)
            } else {
                av_dict_set(&options, "protocol_whitelist", protocols, 0)
                if scheme == "rtmps" { av_dict_set(&options, "tls_verify", "1", 0) }
            }
            // Where the camera can; packets are lost otherwise.
            av_dict_set(&options, "rtsp_flags", "prefer_tcp", 0)
        }
        input.beginOpening()
        input.opening = made
        let result = avformat_open_input(&context, url, format, &options)
        // A context that could not be opened is gone.
        input.opening = nil
        guard result >= 0, let context else {
            throw input.interruption ?? input.openError(result)
        }
        return context
    }

    private static func chooseStream(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ input: LiveInput
    ) throws(CaptureError) -> Int32 {
        var index = firstVideo(context)
        // In FLV a separate packet has the header.
        let format = context.pointee.iformat.map { String(cString: $0.pointee.name) } ?? ""
        if index < 0 || format.hasSuffix("flv") {
            input.beginOpening()
            let looked = clibav_find_stream_info(context, "threads=1:max_pixels=\(FFmpegReader.maximumPixelCount)")
            if let error = input.interruption { throw error }
            if looked == clibav_out_of_memory { throw input.outOfMemory }
            index = firstVideo(context)
        }
        guard index >= 0 else {
            throw input.error(.formatUnsupported, "The stream has no video; check what the sender sends.")
        }
        for number in 0..<Int32(context.pointee.nb_streams) where number != index {
            context.pointee.streams[Int(number)]?.pointee.discard = AVDISCARD_ALL
        }
        return index
    }

    /// The first video whose codec is known: without looking into its packets, which would take time.
    private static func firstVideo(_ context: UnsafeMutablePointer<AVFormatContext>) -> Int32 {
        for number in 0..<Int(context.pointee.nb_streams) {
            guard let parameters = context.pointee.streams[number]?.pointee.codecpar?.pointee else { continue }
            if parameters.codec_type == AVMEDIA_TYPE_VIDEO, parameters.codec_id != AV_CODEC_ID_NONE {
                return Int32(number)
            }
        }
        return -1
    }

    private static func codec(_ identifier: AVCodecID) -> Codec {
        switch identifier {
        case AV_CODEC_ID_H264: .h264
        case AV_CODEC_ID_VP8: .vp8
        case AV_CODEC_ID_MJPEG: .jpeg
        default: Codec(rawValue: String(cString: avcodec_get_name(identifier)))
        }
    }

    private static func displayName(_ format: String) -> String {
        switch format {
        case let name where name.hasPrefix("matroska"): "Matroska"
        case "mpegts": "MPEG-TS"
        case "flv", "live_flv": "FLV"
        default: format.uppercased()
        }
    }
}

/// Where the bytes of a stream come from, and what ends its waits. The library holds an unretained pointer, so it must
/// outlive its context.
final class LiveInput {
    let request: StreamDemuxerFactory.Request
    /// The library's view of the bytes that are handed over; nil for an address.
    private(set) var context: UnsafeMutablePointer<AVIOContext>?
    private var deadline = MediaTime.zero
    /// Of the wait that ends then.
    private var limit = Duration.zero
    /// The context that is being opened; nil at other times.
    var opening: UnsafeMutablePointer<AVFormatContext>?
    /// The server to which a redirect has led, and where the login must not go.
    private var foreignServer: String?

    init(_ request: StreamDemuxerFactory.Request) throws(CaptureError) {
        self.request = request
        guard case .bytes = request.source else { return }
        // The context frees or replaces its block, so that it must come from the library's allocator.
        let blockSize = 32 << 10
        guard let block = av_malloc(blockSize) else { throw outOfMemory }
        context = avio_alloc_context(
            block.assumingMemoryBound(to: UInt8.self), Int32(blockSize), 0, Unmanaged.passUnretained(self).toOpaque(),
            readLiveInput, nil, nil)
        guard context != nil else {
            av_free(block)
            throw outOfMemory
        }
    }

    deinit {
        guard let made = context else { return }
        av_free(made.pointee.buffer)
        avio_context_free(&context)
    }

    func beginOpening() { begin(request.openingTimeout ?? request.timeout) }
    func beginWait() { begin(request.timeout) }
    /// Begins to look into the packets for as long, of the stream's time, as the library is allowed to.
    func beginLooking(for length: Duration) { begin((request.openingTimeout ?? request.timeout) + length) }

    private func begin(_ limit: Duration) {
        self.limit = limit
        deadline = MonotonicClock().now.advanced(by: limit)
    }

    /// Asked by the library before each read and write.
    var isInterrupted: Bool {
        isRedirectedElsewhere || request.isInterrupted() || MonotonicClock().now >= deadline
    }

    /// Whether RTSP was redirected to another server while there is a login in the address, which the library would send
    /// there.
    private var isRedirectedElsewhere: Bool {
        if foreignServer != nil { return true }
        guard let url = opening?.pointee.url.map({ String(cString: $0) }), case let given = request.url,
            LiveInput.authority(of: given).contains("@"), LiveInput.server(of: url) != LiveInput.server(of: given)
        else { return false }
        foreignServer = LiveInput.server(of: url)
        return true
    }

    private static func authority(of url: String) -> Substring {
        guard let start = url.firstRange(of: "://")?.upperBound else { return "" }
        return url[start...].prefix { !"/?#".contains($0) }
    }

    /// The scheme, the host and the port of a URL.
    static func server(of url: String) -> String {
        let authority = authority(of: url)
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        return "\(url.prefix { $0 != ":" })://\(host)".lowercased()
    }

    /// Why a wait has ended before the stream.
    var interruption: CaptureError? {
        if let foreignServer {
            return error(
                .permissionDenied,
                "The server redirects to \(printable(foreignServer, limit: 200)), where the login must not go; give that "
                    + "address, and its login.")
        }
        if request.isInterrupted() { return error(.invalidState, "It was stopped while it waited for the stream.") }
        guard MonotonicClock().now >= deadline else { return nil }
        let seconds = limit.nanoseconds / 1_000_000_000
        return error(.stalled, "Nothing has come for \(seconds) s; check the sender, or the network.")
    }

    fileprivate func read(into bytes: UnsafeMutableRawBufferPointer) -> Int32 {
        // The library does not ask for it while bytes come, of which none may be of a packet.
        guard case .bytes(let read) = request.source, !isInterrupted else { return clibav_end }
        let count = read(bytes)
        return count > 0 ? Int32(count) : clibav_end
    }

    var outOfMemory: CaptureError {
        error(.outOfMemory, "The machine has no memory left for the stream; close other programs.")
    }

    func openError(_ code: Int32) -> CaptureError {
        switch code {
        case clibav_out_of_memory: outOfMemory
        case -ECONNREFUSED, -EHOSTUNREACH, -ENETUNREACH, -ENOENT:
            error(.deviceNotFound, "No server answers there (\(describeAV(code))); check the address.")
        // What FFmpeg makes of an SRT handshake without an answer.
        case -EIO where request.url.lowercased().hasPrefix("srt:"):
            error(
                .deviceNotFound, "No server answers there, or it refuses; check the address, its port and passphrase.")
        case -EIO where request.url.lowercased().hasPrefix("rtmps:"):
            error(
                .deviceNotFound,
                "No server answers there, or its certificate is not trusted; check the address, and that this machine "
                    + "trusts who signed it (update-ca-certificates).")
        case -ETIMEDOUT: error(.stalled, "The server does not answer; check that it is on and reachable.")
        case -EACCES, -EPERM: error(.permissionDenied, "The server does not allow this (\(describeAV(code))).")
        case clibav_http_forbidden:
            error(.permissionDenied, "The server refuses this user the stream; allow it there.")
        case clibav_http_unauthorized:
            error(
                .permissionDenied,
                hasUserInfo(request.url)
                    ? "The server refuses the user name or the password; check both."
                    : "The server asks for a user name and a password; give a login, or user:password@ before the host."
            )
        case -EADDRINUSE: error(.deviceBusy, "Another program has this port; choose another.")
        default:
            error(
                .formatUnsupported,
                "The stream cannot be opened (\(describeAV(code))); check the address, and what the sender sends.")
        }
    }

    func error(_ code: CaptureError.Code, _ message: String) -> CaptureError {
        CaptureError(
            code, operation: "receive the stream", subject: maskingSecrets(inURL: request.url), message: message)
    }
}

private let isLiveInputInterrupted: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { input in
    guard let input else { return 1 }
    return Unmanaged<LiveInput>.fromOpaque(input).takeUnretainedValue().isInterrupted ? 1 : 0
}

private let readLiveInput: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int32) -> Int32 = {
    input, bytes, count in
    guard let input, count > 0 else { return clibav_end }
    return Unmanaged<LiveInput>.fromOpaque(input).takeUnretainedValue()
        .read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
}
