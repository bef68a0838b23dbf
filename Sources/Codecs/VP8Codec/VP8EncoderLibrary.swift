import CLibVPX
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// One libvpx encoder: its context, its configuration and the image through which frames are passed in.
///
/// All three lie in memory of their own since libvpx keeps pointers to them. Used by one thread at a time.
final class VP8EncoderLibrary {
    /// A packet in libvpx's memory: valid until the next call.
    struct Packet {
        var bytes: UnsafeRawBufferPointer
        var isKeyFrame: Bool
        var isDroppable: Bool
    }

    /// The size that is encoded now.
    private(set) var width: Int
    private(set) var height: Int

    private let initialWidth: Int
    private let initialHeight: Int
    private let context = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
    private let settings = UnsafeMutablePointer<vpx_codec_enc_cfg_t>.allocate(capacity: 1)
    private let image = UnsafeMutablePointer<vpx_image_t>.allocate(capacity: 1)
    @exclusivity(unchecked) private var iterator: vpx_codec_iter_t?

    init(_ configuration: VP8Encoder.Configuration, width: Int, height: Int) throws(CodecError) {
        self.width = width
        self.height = height
        initialWidth = width
        initialHeight = height
        context.initialize(to: vpx_codec_ctx_t())
        settings.initialize(to: vpx_codec_enc_cfg_t())
        image.initialize(to: vpx_image_t())
        try check(
            vpx_codec_enc_config_default(vpx_codec_vp8_cx(), settings, 0), "read libvpx's defaults",
            isContextMade: false)
        apply(configuration)
        settings.pointee.g_threads = UInt32(
            configuration.threads.map { min($0, Machine.processorCount) }
                ?? VP8EncoderLibrary.suggestedThreads(width: width, height: height))
        try check(
            vpx_codec_enc_init_ver(context, vpx_codec_vp8_cx(), settings, 0, clibvpx_encoder_abi_version),
            "set up the encoder", isContextMade: false)
        let intra =
            configuration.maximumIntraBitratePercent ?? max(300, Int(30 * configuration.frameRate.framesPerSecond))
        for (control, value) in [
            (VP8E_SET_CPUUSED, configuration.speed),
            (VP8E_SET_NOISE_SENSITIVITY, 0),
            (VP8E_SET_TOKEN_PARTITIONS, 0),
            (VP8E_SET_STATIC_THRESHOLD, configuration.staticThreshold),
            (VP8E_SET_MAX_INTRA_BITRATE_PCT, intra),
            (VP8E_SET_SCREEN_CONTENT_MODE, configuration.screenContentMode),
        ] {
            try set(control, value)
        }
    }

    deinit {
        vpx_codec_destroy(context)
        context.deallocate()
        settings.deallocate()
        image.deallocate()
    }

    /// libvpx can lower each side below that of the beginning, but not raise it beyond.
    func canTake(width: Int, height: Int) -> Bool {
        width <= initialWidth && height <= initialHeight
    }

    func update(_ configuration: VP8Encoder.Configuration, width: Int, height: Int) throws(CodecError) {
        self.width = width
        self.height = height
        apply(configuration)
        try check(vpx_codec_enc_config_set(context, settings), "change the encoder's settings")
    }

    func setSpeed(_ speed: Int) throws(CodecError) { try set(VP8E_SET_CPUUSED, speed) }
    func setTemporalLayer(_ layer: Int) throws(CodecError) { try set(VP8E_SET_TEMPORAL_LAYER_ID, layer) }

    /// Sets the blocks to code, until the next call. Key frames code all.
    func setActiveMap(_ map: ActiveMap) throws(CodecError) {
        let result = map.cells.withUnsafeBufferPointer { cells in
            // libvpx copies them.
            var libraryMap = vpx_active_map_t(
                active_map: UnsafeMutablePointer(mutating: cells.baseAddress), rows: UInt32(map.rows),
                cols: UInt32(map.columns))
            return clibvpx_control_pointer(context, Int32(VP8E_SET_ACTIVEMAP.rawValue), &libraryMap)
        }
        try check(result, "set the active blocks")
    }

    /// Turns the filter of block edges off for all blocks, or leaves it to libvpx again, until the next call. Ends libvpx's
    /// own refreshing of blocks in turn.
    func setDeblocking(_ isOn: Bool, of map: ActiveMap) throws(CodecError) {
        var result = VPX_CODEC_OK
        // All blocks are of the first segment; libvpx copies them.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: map.rows * map.columns) { segments in
            segments.initialize(repeating: 0)
            var regions = vpx_roi_map_t()
            regions.roi_map = segments.baseAddress
            regions.rows = UInt32(map.rows)
            regions.cols = UInt32(map.columns)
            regions.delta_lf.0 = isOn ? 0 : -63
            result = clibvpx_control_pointer(context, Int32(VP8E_SET_ROI_MAP.rawValue), &regions)
        }
        try check(result, "set the filter of block edges")
    }

    /// The quantizer, of 0 to 63, of the packet handed out last.
    func lastQuantizer() throws(CodecError) -> Int {
        var quantizer: Int32 = 0
        try check(
            clibvpx_control_pointer(context, Int32(VP8E_GET_LAST_QUANTIZER_64.rawValue), &quantizer),
            "ask for the quantizer")
        return Int(quantizer)
    }

    /// Encodes a frame in NV12 or I420 of the size set; libvpx copies the pixels before it returns.
    func encode(_ frame: VideoFrame, slot: EncoderTiming.Slot, flags: Int) throws(CodecError) {
        let planes = frame.buffer.planes
        let isNV12 = frame.pixelFormat == .nv12
        if !isNV12, planes[1].bytesPerRow != planes[2].bytesPerRow {
            // libvpx uses one stride for both and would shear the second without a word.
            throw CodecError(
                .formatUnsupported, operation: "encode a frame", subject: "VP8",
                message:
                    "Both chroma planes must have the same stride, not \(planes[1].bytesPerRow) and \(planes[2].bytesPerRow)."
            )
        }
        image.pointee.fmt = isNV12 ? VPX_IMG_FMT_NV12 : VPX_IMG_FMT_I420
        image.pointee.w = UInt32(width)
        image.pointee.h = UInt32(height)
        image.pointee.d_w = UInt32(width)
        image.pointee.d_h = UInt32(height)
        image.pointee.x_chroma_shift = 1
        image.pointee.y_chroma_shift = 1
        image.pointee.bps = 12
        image.pointee.bit_depth = 8
        let result = frame.buffer.withUnsafePlanes { bases in
            // libvpx reads through these pointers only.
            func plane(_ index: Int) -> UnsafeMutablePointer<UInt8> {
                UnsafeMutablePointer(mutating: bases[index].assumingMemoryBound(to: UInt8.self))
            }
            // libvpx knows NV12 by V following U at once.
            image.pointee.planes = (plane(0), plane(1), isNV12 ? plane(1) + 1 : plane(2), nil)
            image.pointee.stride = (
                Int32(planes[0].bytesPerRow), Int32(planes[1].bytesPerRow), Int32(planes[1].bytesPerRow), 0
            )
            return vpx_codec_encode(
                context, image, slot.start, slot.duration, vpx_enc_frame_flags_t(flags), UInt(VPX_DL_REALTIME))
        }
        try check(result, "encode a frame")
        iterator = nil
    }

    /// The next packet of the frame encoded last.
    func nextPacket() -> Packet? {
        while let packet = vpx_codec_get_cx_data(context, &iterator) {
            guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
            let frame = packet.pointee.data.frame
            return Packet(
                bytes: UnsafeRawBufferPointer(start: frame.buf, count: frame.sz),
                isKeyFrame: frame.flags & UInt32(VPX_FRAME_IS_KEY) != 0,
                isDroppable: frame.flags & UInt32(VPX_FRAME_IS_DROPPABLE) != 0)
        }
        return nil
    }

    private func apply(_ configuration: VP8Encoder.Configuration) {
        settings.pointee.g_w = UInt32(width)
        settings.pointee.g_h = UInt32(height)
        settings.pointee.g_timebase = vpx_rational(num: 1, den: Int32(EncoderTiming.unitsPerSecond))
        settings.pointee.g_lag_in_frames = 0
        settings.pointee.g_pass = VPX_RC_ONE_PASS
        settings.pointee.g_error_resilient =
            configuration.isErrorResilient || configuration.temporalLayers > 1
            ? vpx_codec_er_flags_t(VPX_ERROR_RESILIENT_DEFAULT) : 0
        // From the beginning: cyclic refresh is chosen when the encoder is made.
        settings.pointee.rc_end_usage = configuration.isVariableBitrate ? VPX_VBR : VPX_CBR
        settings.pointee.rc_target_bitrate = UInt32(configuration.bitrate / 1000)
        settings.pointee.rc_min_quantizer = UInt32(configuration.minimumQuantizer)
        settings.pointee.rc_max_quantizer = UInt32(configuration.maximumQuantizer)
        settings.pointee.rc_undershoot_pct = 100
        settings.pointee.rc_overshoot_pct = 15
        settings.pointee.rc_buf_initial_sz = 500
        settings.pointee.rc_buf_optimal_sz = 600
        settings.pointee.rc_buf_sz = 1000
        settings.pointee.rc_dropframe_thresh = UInt32(configuration.dropFrameThreshold)
        settings.pointee.rc_resize_allowed = 0
        // Key frames are placed by the capture's time, not by counting frames.
        settings.pointee.kf_mode = VPX_KF_DISABLED
        applyLayers(configuration)
    }

    private func applyLayers(_ configuration: VP8Encoder.Configuration) {
        let pattern = TemporalLayerPattern(layerCount: configuration.temporalLayers)
        settings.pointee.ts_number_layers = UInt32(pattern.layerCount)
        settings.pointee.ts_periodicity = UInt32(pattern.period)
        withUnsafeMutableBytes(of: &settings.pointee.ts_rate_decimator) { bytes in
            for (layer, divisor) in pattern.rateDivisors.enumerated() {
                bytes.storeBytes(of: UInt32(divisor), toByteOffset: layer * 4, as: UInt32.self)
            }
        }
        withUnsafeMutableBytes(of: &settings.pointee.ts_target_bitrate) { bytes in
            for (layer, share) in pattern.bitrateShares.enumerated() {
                let bitrate = UInt32(max(1, configuration.bitrate / 1000 * share / 100))
                bytes.storeBytes(of: bitrate, toByteOffset: layer * 4, as: UInt32.self)
            }
        }
        withUnsafeMutableBytes(of: &settings.pointee.ts_layer_id) { bytes in
            for (frame, layer) in pattern.layerOfFrame.enumerated() {
                bytes.storeBytes(of: UInt32(layer), toByteOffset: frame * 4, as: UInt32.self)
            }
        }
    }

    /// libwebrtc's choice, never more than the machine has cores: libvpx's rows wait for each other by spinning.
    private static func suggestedThreads(width: Int, height: Int) -> Int {
        let cores = Machine.processorCount
        let pixels = width * height
        if pixels >= 1920 * 1080, cores > 8 { return 8 }
        if pixels > 1280 * 960, cores >= 6 { return 3 }
        if pixels > 640 * 480, cores >= 3 { return 2 }
        return 1
    }

    private func set(_ control: vp8e_enc_control_id, _ value: Int) throws(CodecError) {
        try check(
            clibvpx_control_int(context, Int32(control.rawValue), Int32(value)), "set control \(control.rawValue)")
    }

    private func check(
        _ result: vpx_codec_err_t, _ operation: @autoclosure () -> String, isContextMade: Bool = true
    ) throws(CodecError) {
        guard result != VPX_CODEC_OK else { return }
        throw CodecError(vpx: result, context: isContextMade ? context : nil, operation: operation())
    }
}

extension CodecError {
    /// An error of libvpx, in its own words.
    ///
    /// - Parameter context: where libvpx keeps the details; nil before there is one.
    init(vpx result: vpx_codec_err_t, context: UnsafeMutablePointer<vpx_codec_ctx_t>?, operation: String) {
        var message = String(cString: vpx_codec_err_to_string(result))
        if let detail = context.flatMap({ vpx_codec_error_detail($0) }) { message += ": " + String(cString: detail) }
        let code: Code =
            switch result {
            case VPX_CODEC_MEM_ERROR: .outOfMemory
            case VPX_CODEC_INVALID_PARAM: .invalidConfiguration
            case VPX_CODEC_CORRUPT_FRAME, VPX_CODEC_UNSUP_BITSTREAM, VPX_CODEC_UNSUP_FEATURE: .corruptData
            default: .library
            }
        self.init(
            code, operation: operation, subject: "VP8", libraryCode: Int32(bitPattern: result.rawValue),
            message: "\(message).")
    }
}
