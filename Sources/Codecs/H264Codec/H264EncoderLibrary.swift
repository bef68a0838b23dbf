import CLibYUV
import COpenH264
import VideoCapturing

/// One openh264 encoder of one size, and the memory that its calls need. Used by one thread at a time.
final class H264EncoderLibrary {
    /// What openh264 takes: at least a macroblock, at most level 5.2's.
    private static let sides = 16...8688
    private static let maximumBlockCount = 36864
    /// The highest rate that openh264 plans for.
    private static let maximumRate = 60.0

    /// The size that is encoded.
    let size: PixelSize

    private let encoder: UnsafeMutablePointer<ISVCEncoder?>
    /// 5 KB, so it is kept.
    private let output: UnsafeMutablePointer<SFrameBSInfo>
    /// U and V of NV12 frames, which openh264 does not take.
    private let chroma: UnsafeMutablePointer<UInt8>
    private let chromaStride: Int
    private var bitrate: Int
    private var frameRate: FrameRate
    @exclusivity(unchecked) private var firstTimestamp: MediaTime?

    /// - Parameters:
    ///   - configuration: how to encode.
    ///   - pictureSize: the size of the frames, for errors.
    ///   - size: the part of it that is encoded, which is even.
    ///   - frameRate: the rate to plan for.
    init(
        _ configuration: H264Encoder.Configuration, pictureSize: PixelSize, size: PixelSize, frameRate: FrameRate
    ) throws(CodecError) {
        guard H264EncoderLibrary.accepts(size) else {
            throw CodecError(
                .formatUnsupported, operation: "set up the encoder", subject: "H.264",
                message: "openh264 encodes pictures of 16x16 to 4096x2304 pixels, not \(pictureSize); scale them first."
            )
        }
        var made: UnsafeMutablePointer<ISVCEncoder?>?
        guard WelsCreateSVCEncoder(&made) == 0, let made else {
            throw CodecError(
                .outOfMemory, operation: "set up the encoder", subject: "H.264",
                message: "The machine has no memory left for the encoder; close other programs.")
        }
        encoder = made
        self.size = size
        self.frameRate = frameRate
        bitrate = configuration.bitrate
        chromaStride = (size.width / 2 + 63) / 64 * 64
        chroma = .allocate(capacity: chromaStride * size.height)
        // From here on a failure runs the deinitializer.
        output = .allocate(capacity: 1)
        output.initialize(to: SFrameBSInfo())
        // It reports on standard error otherwise.
        var level = Int32(WELS_LOG_QUIET)
        _ = copenh264_set(encoder, ENCODER_OPTION_TRACE_LEVEL, &level)
        var settings = SEncParamExt()
        try check(copenh264_get_defaults(encoder, &settings), "read openh264's defaults")
        apply(configuration, to: &settings)
        try check(copenh264_initialize(encoder, &settings), "set up the encoder")
        var format = Int32(videoFormatI420.rawValue)
        try check(copenh264_set(encoder, ENCODER_OPTION_DATAFORMAT, &format), "set the pixel format")
    }

    /// Whether openh264 encodes pictures of a size.
    static func accepts(_ size: PixelSize) -> Bool {
        let blocks = (size.width + 15) / 16 * ((size.height + 15) / 16)
        return sides.contains(size.width) && sides.contains(size.height) && blocks <= maximumBlockCount
    }

    deinit {
        copenh264_destroy(encoder)
        output.deallocate()
        chroma.deallocate()
    }

    /// Aims at a bitrate from the next frame on; no key frame comes of it.
    func setBitrate(_ bitrate: Int) throws(CodecError) {
        guard bitrate != self.bitrate else { return }
        self.bitrate = bitrate
        try applyBitrate()
    }

    /// Plans for a rate from the next frame on.
    func setFrameRate(_ frameRate: FrameRate) throws(CodecError) {
        guard frameRate != self.frameRate else { return }
        self.frameRate = frameRate
        var rate = plannedRate
        try check(copenh264_set(encoder, ENCODER_OPTION_FRAME_RATE, &rate), "set the frame rate")
        try applyBitrate()
    }

    /// Encodes a frame in NV12 or I420 of the size set, but for an odd last column or row; openh264 copies the pixels.
    ///
    /// - Returns: whether there is a packet in ``layers``; false when openh264 drops the frame.
    func encode(_ frame: VideoFrame, forcesKeyFrame: Bool) throws(CodecError) -> Bool {
        let planes = frame.buffer.planes
        let isNV12 = frame.pixelFormat == .nv12
        if !isNV12, planes[1].bytesPerRow != planes[2].bytesPerRow {
            // openh264 uses one stride for both and would shear the second without a word.
            throw CodecError(
                .formatUnsupported, operation: "encode a frame", subject: "H.264",
                message:
                    "Both chroma planes must have the same stride, not \(planes[1].bytesPerRow) and \(planes[2].bytesPerRow)."
            )
        }
        if forcesKeyFrame { try check(copenh264_force_key_frame(encoder), "ask for a key frame") }
        let first = firstTimestamp ?? frame.timestamp
        firstTimestamp = first
        let result = frame.buffer.withUnsafePlanes { bases in
            // openh264 reads through these pointers only.
            func plane(_ index: Int) -> UnsafeMutablePointer<UInt8> {
                UnsafeMutablePointer(mutating: bases[index].assumingMemoryBound(to: UInt8.self))
            }
            var picture = SSourcePicture()
            picture.iColorFormat = Int32(videoFormatI420.rawValue)
            picture.iPicWidth = Int32(size.width)
            picture.iPicHeight = Int32(size.height)
            picture.uiTimeStamp = max(0, frame.timestamp.nanoseconds(since: first) / 1_000_000)
            picture.pData.0 = plane(0)
            picture.iStride.0 = Int32(planes[0].bytesPerRow)
            if isNV12 {
                let second = chroma + chromaStride * (size.height / 2)
                SplitUVPlane(
                    plane(1), Int32(planes[1].bytesPerRow), chroma, Int32(chromaStride), second, Int32(chromaStride),
                    Int32(size.width / 2), Int32(size.height / 2))
                picture.pData.1 = chroma
                picture.pData.2 = second
                picture.iStride.1 = Int32(chromaStride)
                picture.iStride.2 = Int32(chromaStride)
            } else {
                picture.pData.1 = plane(1)
                picture.pData.2 = plane(2)
                picture.iStride.1 = Int32(planes[1].bytesPerRow)
                picture.iStride.2 = Int32(planes[2].bytesPerRow)
            }
            return copenh264_encode(encoder, &picture, output)
        }
        try check(result, "encode a frame")
        let kind = output.pointee.eFrameType
        guard kind != videoFrameTypeInvalid else {
            throw CodecError(
                .library, operation: "encode a frame", subject: "H.264", message: "openh264 has not taken the frame.")
        }
        return kind != videoFrameTypeSkip && output.pointee.iFrameSizeInBytes > 0
    }

    /// Whether decoding can begin at the packet encoded last.
    var isKeyFrame: Bool { output.pointee.eFrameType == videoFrameTypeIDR }

    /// The number of parts of the packet encoded last.
    var layerCount: Int { Int(output.pointee.iLayerNum) }

    /// A part of the packet encoded last, a byte stream with start codes of four bytes: valid until the next call.
    func layer(_ index: Int) -> UnsafeRawBufferPointer {
        let layer = copenh264_layer(output, Int32(index)).pointee
        var count = 0
        for unit in 0..<Int(layer.iNalCount) { count += Int(layer.pNalLengthInByte[unit]) }
        return UnsafeRawBufferPointer(start: layer.pBsBuf, count: count)
    }

    /// openh264 plans for at most 60 frames per second; above that each gets its part of the bits.
    private var plannedRate: Float { Float(min(frameRate.framesPerSecond, H264EncoderLibrary.maximumRate)) }
    private var plannedBitrate: Int32 {
        let part = min(1, H264EncoderLibrary.maximumRate / frameRate.framesPerSecond)
        return Int32(clamping: max(1000, Int(Double(bitrate) * part)))
    }

    private func applyBitrate() throws(CodecError) {
        var change = SBitrateInfo(iLayer: SPATIAL_LAYER_ALL, iBitrate: plannedBitrate)
        try check(copenh264_set(encoder, ENCODER_OPTION_BITRATE, &change), "set the bitrate")
    }

    private func apply(_ configuration: H264Encoder.Configuration, to settings: inout SEncParamExt) {
        settings.iUsageType = configuration.isScreenContent ? SCREEN_CONTENT_REAL_TIME : CAMERA_VIDEO_REAL_TIME
        settings.iPicWidth = Int32(size.width)
        settings.iPicHeight = Int32(size.height)
        let isConstant = configuration.minimumQuantizer == configuration.maximumQuantizer
        settings.iRCMode =
            isConstant ? RC_OFF_MODE : configuration.isVariableBitrate ? RC_QUALITY_MODE : RC_BITRATE_MODE
        settings.iTargetBitrate = plannedBitrate
        settings.iMaxBitrate = UNSPECIFIED_BIT_RATE
        settings.fMaxFrameRate = plannedRate
        switch configuration.complexity {
        case .low: settings.iComplexityMode = LOW_COMPLEXITY
        case .medium: settings.iComplexityMode = MEDIUM_COMPLEXITY
        case .high: settings.iComplexityMode = HIGH_COMPLEXITY
        }
        // Key frames are placed by the capture's time, not by counting frames; of noise each frame is a new scene.
        settings.uiIntraPeriod = 0
        settings.bEnableSceneChangeDetect = false
        settings.eSpsPpsIdStrategy = CONSTANT_ID
        settings.iEntropyCodingModeFlag = 0
        settings.bEnableFrameSkip = configuration.dropsFrames
        settings.iMinQp = Int32(configuration.minimumQuantizer)
        settings.iMaxQp = Int32(configuration.maximumQuantizer)
        settings.iMultipleThreadIdc = UInt16(configuration.threads)
        settings.bEnableFrameCroppingFlag = true
        settings.sSpatialLayers.0.iVideoWidth = Int32(size.width)
        settings.sSpatialLayers.0.iVideoHeight = Int32(size.height)
        settings.sSpatialLayers.0.fFrameRate = plannedRate
        settings.sSpatialLayers.0.iSpatialBitrate = plannedBitrate
        settings.sSpatialLayers.0.iMaxSpatialBitrate = UNSPECIFIED_BIT_RATE
        settings.sSpatialLayers.0.uiProfileIdc = PRO_BASELINE
        if isConstant { settings.sSpatialLayers.0.iDLayerQp = Int32(configuration.minimumQuantizer) }
        if let maximum = configuration.maximumNALUnitSize {
            settings.uiMaxNalSize = UInt32(maximum)
            settings.sSpatialLayers.0.sSliceArgument.uiSliceMode = SM_SIZELIMITED_SLICE
            settings.sSpatialLayers.0.sSliceArgument.uiSliceSizeConstraint = UInt32(maximum)
        } else if configuration.threads > 1 {
            settings.sSpatialLayers.0.sSliceArgument.uiSliceMode = SM_FIXEDSLCNUM_SLICE
            settings.sSpatialLayers.0.sSliceArgument.uiSliceNum = UInt32(configuration.threads)
        }
    }

    private func check(_ result: Int32, _ operation: @autoclosure () -> String) throws(CodecError) {
        guard result != 0 else { return }
        // CM_RETURN: 1 for parameters, 3 for memory, 5 for data.
        let code: CodecError.Code =
            result == 1 || result == 5 ? .invalidConfiguration : result == 3 ? .outOfMemory : .library
        throw CodecError(
            code, operation: operation(), subject: "H.264", libraryCode: result,
            message: code == .outOfMemory
                ? "openh264 has no room for a picture that large, or the machine no memory; use a coarser quantizer, another "
                    + "encoder or a smaller size."
                : "openh264 refuses a setting or a frame; check size, rate and bitrate.")
    }
}
