import CLibAV
import FFmpegSupport
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open encoder of libavcodec for frames of one shape. Used by one thread at a time.
final class EncoderContext {
    /// What cannot change while it is open.
    struct Shape: Equatable {
        var pixelFormat: PixelFormat
        var width: Int
        var height: Int
        var color: ColorDescription
        var pixelAspect = PixelAspect.square
    }

    let shape: Shape

    private let context: UnsafeMutablePointer<AVCodecContext>
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let surfaces: SurfacePool?
    private let name: String
    private let quality: EncoderQuality?

    /// Opens the encoder.
    ///
    /// - Throws: `unavailable` where its device or driver is missing, `formatUnsupported`, `invalidConfiguration`.
    init(_ configuration: FFmpegVideoEncoder.Configuration, _ shape: Shape) throws(CodecError) {
        let name = configuration.encoder
        let codec = try EncoderContext.find(name)
        let traits = EncoderTraits(encoder: name)
        guard let context = avcodec_alloc_context3(codec), let frame = av_frame_alloc(), let packet = av_packet_alloc()
        else { throw .encoder(name, clibav_out_of_memory, "make the encoder") }
        do throws(CodecError) {
            let format = try EncoderContext.libraryFormat(of: shape, codec, traits, name)
            let surfaces =
                try traits.takesVASurfaces ? SurfacePool(shape, device: configuration.device, traits, name) : nil
            EncoderContext.apply(configuration, shape, format, traits, to: context)
            if let surfaces { context.pointee.hw_frames_ctx = av_buffer_ref(surfaces.frames) }
            // Those of the table may be unknown to another version; those of the user must not be.
            let chosen = QualityOptions(encoder: name).options(configuration.quality)
                .merging(configuration.options) { _, user in user }
            var options = FFmpegOptions(traits.options.merging(chosen) { _, user in user })
            let result = avcodec_open2(context, codec, &options.dictionary)
            guard result >= 0 else { throw EncoderContext.openError(result, name, traits) }
            let unknown = options.names.filter { chosen[$0] != nil }
            guard unknown.isEmpty else {
                throw CodecError(
                    .invalidConfiguration, operation: "open the encoder", subject: name,
                    message: "It has no option \(unknown.joined(separator: ", ")); check the spelling.")
            }
            self.surfaces = surfaces
        } catch {
            EncoderContext.free(context, frame, packet)
            throw error
        }
        // Last, since an object that is complete is destroyed when its initializer throws.
        self.name = name
        self.shape = shape
        quality = configuration.quality
        self.context = context
        self.frame = frame
        self.packet = packet
    }

    deinit { EncoderContext.free(context, frame, packet) }

    /// Changes the bitrate of an encoder whose traits allow that.
    func setBitrate(_ bitrate: Int) {
        EncoderContext.setBitrate(
            bitrate, maximum: QualityOptions(encoder: name).maximumRate(quality, bitrate: bitrate), of: context)
    }

    /// Passes a frame in without a copy: the encoder holds the buffer for as long as it needs it.
    ///
    /// - Returns: false when packets have to be taken out first.
    func send(_ buffer: PixelBuffer, time: Int64, isKeyFrame: Bool) throws(CodecError) -> Bool {
        defer { av_frame_unref(frame) }
        try wrap(buffer)
        frame.pointee.pts = time
        frame.pointee.pict_type = isKeyFrame ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        if let surfaces { try surfaces.upload(frame) }
        return try send(frame)
    }

    /// Signals the end of the frames to the encoder.
    func sendEnd() throws(CodecError) { _ = try send(nil) }

    /// The next packet: its bytes, which are valid during the call, its time and whether it is a key frame; nil
    /// without one.
    func receive<Result>(
        _ body: (UnsafeRawBufferPointer, _ time: Int64, _ isKeyFrame: Bool) throws -> Result
    ) throws -> Result? {
        let result = avcodec_receive_packet(context, packet)
        if result == clibav_again || result == clibav_end { return nil }
        guard result >= 0 else { throw CodecError.encoder(name, result, "encode a frame") }
        defer { av_packet_unref(packet) }
        return try body(
            UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)), packet.pointee.pts,
            packet.pointee.flags & AV_PKT_FLAG_KEY != 0)
    }

    private func send(_ frame: UnsafePointer<AVFrame>?) throws(CodecError) -> Bool {
        let result = avcodec_send_frame(context, frame)
        if result == clibav_again { return false }
        guard result >= 0 || result == clibav_end else { throw .encoder(name, result, "encode a frame") }
        return true
    }

    private func wrap(_ buffer: PixelBuffer) throws(CodecError) {
        frame.pointee.format = EncoderContext.libraryFormat(of: buffer.pixelFormat).rawValue
        frame.pointee.width = Int32(buffer.width)
        frame.pointee.height = Int32(buffer.height)
        frame.pointee.colorspace = context.pointee.colorspace
        frame.pointee.color_range = context.pointee.color_range
        let planes = buffer.planes
        // The pointers stay valid for as long as the buffer is retained.
        buffer.withUnsafePlanes { bases in
            func plane(_ index: Int) -> UnsafeMutablePointer<UInt8>? {
                guard index < planes.count else { return nil }
                return UnsafeMutablePointer(mutating: bases[index].assumingMemoryBound(to: UInt8.self))
            }
            frame.pointee.data.0 = plane(0)
            frame.pointee.data.1 = plane(1)
            frame.pointee.data.2 = plane(2)
        }
        frame.pointee.linesize.0 = Int32(planes[0].bytesPerRow)
        frame.pointee.linesize.1 = Int32(planes[1].bytesPerRow)
        frame.pointee.linesize.2 = planes.count > 2 ? Int32(planes[2].bytesPerRow) : 0
        let holder = Unmanaged.passRetained(buffer)
        let size = planes[0].bytesPerRow * (planes[0].rows - 1) + planes[0].rowBytes
        frame.pointee.buf.0 = clibav_wrap(frame.pointee.data.0, Int64(size), holder.toOpaque()) { opaque, _ in
            guard let opaque else { return }
            let holder = Unmanaged<PixelBuffer>.fromOpaque(opaque)
            // Ends the encoder's reads, so that the memory may be written again.
            holder.takeUnretainedValue().withUnsafePlanes { _ in }
            holder.release()
        }
        guard frame.pointee.buf.0 != nil else {
            holder.release()
            throw .encoder(name, clibav_out_of_memory, "encode a frame")
        }
    }
}

extension EncoderContext {
    /// The encoder of a name.
    ///
    /// - Throws: `invalidConfiguration` with the nearest name.
    static func find(_ name: String) throws(CodecError) -> UnsafePointer<AVCodec> {
        _ = FFmpegLibrary.prepared
        if let codec = avcodec_find_encoder_by_name(name), codec.pointee.type == AVMEDIA_TYPE_VIDEO { return codec }
        let guess = nearestName(to: name, in: FFmpegVideoEncoder.names(of: nil)).map { " Did you mean \($0)?" } ?? ""
        throw CodecError(
            .invalidConfiguration, operation: "choose an encoder", subject: name,
            message: "This FFmpeg has no video encoder of that name.\(guess) `ffmpeg -encoders` lists all.")
    }

    /// The pixel formats of ours that an encoder takes, the cheapest one first.
    static func formats(of codec: UnsafePointer<AVCodec>, _ traits: EncoderTraits) -> [PixelFormat] {
        if traits.takesVASurfaces { return [.nv12] }
        // No list: it depends on the device.
        guard var next = clibav_pixel_formats(codec) else { return [.nv12, .i420] }
        var formats: [PixelFormat] = []
        while next.pointee != AV_PIX_FMT_NONE {
            switch next.pointee {
            case AV_PIX_FMT_NV12: formats.append(.nv12)
            case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: formats.append(.i420)
            default: break
            }
            next += 1
        }
        return formats.contains(.nv12) ? [.nv12] + formats.filter { $0 != .nv12 } : formats
    }

    fileprivate static func libraryFormat(of format: PixelFormat) -> AVPixelFormat {
        format == .nv12 ? AV_PIX_FMT_NV12 : AV_PIX_FMT_YUV420P
    }

    private static func libraryFormat(
        of shape: Shape, _ codec: UnsafePointer<AVCodec>, _ traits: EncoderTraits, _ name: String
    ) throws(CodecError) -> AVPixelFormat {
        let taken = formats(of: codec, traits)
        guard taken.contains(shape.pixelFormat) else {
            let list = taken.isEmpty ? "neither NV12 nor I420" : taken.map { "\($0)" }.joined(separator: " and ")
            throw CodecError(
                .formatUnsupported, operation: "encode a frame", subject: name,
                message: "It encodes \(list); convert \(shape.pixelFormat) frames with FrameProcessing first.")
        }
        return traits.takesVASurfaces ? AV_PIX_FMT_VAAPI : libraryFormat(of: shape.pixelFormat)
    }

    private static func apply(
        _ configuration: FFmpegVideoEncoder.Configuration, _ shape: Shape, _ format: AVPixelFormat,
        _ traits: EncoderTraits,
        to context: UnsafeMutablePointer<AVCodecContext>
    ) {
        context.pointee.width = Int32(shape.width)
        context.pointee.height = Int32(shape.height)
        context.pointee.pix_fmt = format
        context.pointee.time_base = AVRational(num: 1, den: traits.timeScale)
        context.pointee.framerate = AVRational(
            num: configuration.frameRate.frames, den: configuration.frameRate.seconds)
        context.pointee.colorspace = shape.color.matrix == .bt709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M
        context.pointee.color_range = shape.color.range == .full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
        // Chromium ignores the range where these are not stated.
        context.pointee.color_primaries = AVColorPrimaries(UInt32(shape.color.matrix.h273Code))
        context.pointee.color_trc = AVColorTransferCharacteristic(UInt32(shape.color.matrix.h273Code))
        context.pointee.sample_aspect_ratio = AVRational(
            num: Int32(shape.pixelAspect.width), den: Int32(shape.pixelAspect.height))
        // Key frames are placed by the capture's time, not by counting frames.
        context.pointee.gop_size = traits.longestGroup
        context.pointee.max_b_frames = 0
        // Threads that work on slices; those on frames would each hold one back.
        context.pointee.thread_type = FF_THREAD_SLICE
        context.pointee.thread_count =
            configuration.threads.map { Int32($0) }
            ?? (shape.width * shape.height > 640 * 480 ? Int32(min(Machine.processorCount, 4)) : 1)
        // So that JPEG takes full range in a layout whose name does not say so.
        context.pointee.strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL
        let maximum = QualityOptions(encoder: configuration.encoder)
            .maximumRate(configuration.quality, bitrate: configuration.bitrate)
        setBitrate(configuration.bitrate, maximum: maximum, of: context)
    }

    /// The rate is kept over a second.
    fileprivate static func setBitrate(
        _ bitrate: Int, maximum: Int, of context: UnsafeMutablePointer<AVCodecContext>
    ) {
        context.pointee.bit_rate = Int64(bitrate)
        context.pointee.rc_max_rate = Int64(maximum)
        context.pointee.rc_buffer_size = Int32(clamping: maximum)
    }

    private static func openError(_ code: Int32, _ name: String, _ traits: EncoderTraits) -> CodecError {
        if code == clibav_out_of_memory { return .encoder(name, code, "open the encoder") }
        return CodecError(
            .unavailable, operation: "open the encoder", subject: name, libraryCode: code,
            message: "It cannot be opened on this machine (\(describeAV(code))). \(traits.need)")
    }

    fileprivate static func free(
        _ context: UnsafeMutablePointer<AVCodecContext>, _ frame: UnsafeMutablePointer<AVFrame>,
        _ packet: UnsafeMutablePointer<AVPacket>
    ) {
        var (context, frame, packet) = (Optional(context), Optional(frame), Optional(packet))
        avcodec_free_context(&context)
        av_frame_free(&frame)
        av_packet_free(&packet)
    }
}

/// Frames in a graphics card's memory, for encoders of the VA-API.
private final class SurfacePool {
    let frames: UnsafeMutablePointer<AVBufferRef>
    private let name: String

    init(
        _ shape: EncoderContext.Shape, device: String?, _ traits: EncoderTraits, _ name: String
    ) throws(CodecError) {
        self.name = name
        var made: UnsafeMutablePointer<AVBufferRef>?
        let result = clibav_make_surfaces(&made, device, AV_PIX_FMT_NV12, Int32(shape.width), Int32(shape.height))
        guard result >= 0, let made else {
            throw CodecError(
                .unavailable, operation: "open the graphics card", subject: name, libraryCode: result,
                message: "There is no VA-API device\(device.map { " at \($0)" } ?? ""), or it takes no frames of "
                    + "\(shape.width)x\(shape.height) (\(describeAV(result))). \(traits.need)")
        }
        frames = made
    }

    deinit {
        var frames: UnsafeMutablePointer<AVBufferRef>? = frames
        av_buffer_unref(&frames)
    }

    /// Replaces a frame in memory by one of the card.
    func upload(_ frame: UnsafeMutablePointer<AVFrame>) throws(CodecError) {
        guard let surface = av_frame_alloc() else { throw .encoder(name, clibav_out_of_memory, "encode a frame") }
        var held: UnsafeMutablePointer<AVFrame>? = surface
        defer { av_frame_free(&held) }
        var result = av_hwframe_get_buffer(frames, surface, 0)
        if result >= 0 { result = av_hwframe_transfer_data(surface, frame, 0) }
        if result >= 0 { result = av_frame_copy_props(surface, frame) }
        guard result >= 0 else { throw .encoder(name, result, "upload a frame") }
        av_frame_unref(frame)
        av_frame_move_ref(frame, surface)
    }
}

extension CodecError {
    /// An error of the library, in its own words.
    static func encoder(_ name: String, _ code: Int32, _ operation: String) -> CodecError {
        CodecError(
            code == clibav_out_of_memory ? .outOfMemory : .library, operation: operation, subject: name,
            libraryCode: code, message: "\(describeAV(code)).")
    }
}
