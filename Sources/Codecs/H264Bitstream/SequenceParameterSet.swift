import CaptureCore

/// A sequence parameter set (ITU-T H.264, 7.3.2.1): size, profile, level, and what its video usability information says.
public struct SequenceParameterSet: Sendable, Hashable {
    /// The number that picture parameter sets name, 0 to 31.
    public let identifier: Int
    /// profile_idc: 66 Baseline, 77 Main, 100 High and so on.
    public let profile: UInt8
    /// The constraint flags as their byte, set 0 in the highest bit.
    public let constraintFlags: UInt8
    /// level_idc: ten times the level, 31 for 3.1.
    public let level: UInt8
    /// The width for display in pixels, after cropping.
    public let width: Int
    /// The height for display in pixels, after cropping.
    public let height: Int
    /// The width that is coded, in pixels: a multiple of 16.
    public let codedWidth: Int
    /// The height that is coded, in pixels: a multiple of 16.
    public let codedHeight: Int
    /// chroma_format_idc: 0 gray, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    public let chromaFormat: Int
    /// The bits of a luma sample.
    public let lumaBitDepth: Int
    /// The bits of a chroma sample.
    public let chromaBitDepth: Int
    /// The maximum number of frames that are referred to.
    public let referenceFrameCount: Int
    /// Whether every picture is a frame, and none a field.
    public let hasFramesOnly: Bool
    /// Whether the numbers of frames may have gaps without a loss.
    public let allowsFrameNumberGaps: Bool
    /// The bits of a frame's number, 4 to 16.
    public let frameNumberBits: Int
    /// The video usability information; nil without any, or if it is cut off.
    public let videoUsability: SequenceParameterSet.VideoUsability?

    let hasSeparateColorPlanes: Bool
    let pictureOrder: PictureOrder
    /// The bits of the payload before the video usability information.
    private let bitsBeforeVideoUsability: Int

    /// Parses a sequence parameter set.
    ///
    /// - Parameter unit: a NAL unit of the kind ``NALUnit/Kind/sps``.
    /// - Throws: `CodecError` with the code `corruptData`.
    public init(_ unit: NALUnit) throws(CodecError) {
        guard unit.type == .sps else {
            throw .corruptH264("read an SPS", "A NAL unit of the type \(unit.type.rawValue) is not an SPS.")
        }
        var reader = BitReader(unit.bytes)
        profile = UInt8(reader.read(8))
        constraintFlags = UInt8(reader.read(8))
        level = UInt8(reader.read(8))
        identifier = reader.readUnsigned(atMost: 31)
        let format = SampleFormat(&reader, profile: profile)
        chromaFormat = format.chromaFormat
        lumaBitDepth = format.lumaBitDepth
        chromaBitDepth = format.chromaBitDepth
        hasSeparateColorPlanes = format.hasSeparatePlanes
        frameNumberBits = reader.readUnsigned(atMost: 12) + 4
        pictureOrder = PictureOrder(&reader)
        referenceFrameCount = reader.readUnsigned(atMost: 16)
        allowsFrameNumberGaps = reader.readBit()
        // Level 6.2 has at most 1055 macroblocks in a row.
        codedWidth = (reader.readUnsigned(atMost: 4095) + 1) * 16
        let mapUnits = reader.readUnsigned(atMost: 4095) + 1
        hasFramesOnly = reader.readBit()
        codedHeight = mapUnits * 16 * (hasFramesOnly ? 1 : 2)
        if !hasFramesOnly { _ = reader.readBit() }
        _ = reader.readBit()
        var (left, right, top, bottom) = (0, 0, 0, 0)
        if reader.readBit() {
            left = reader.readUnsigned(atMost: 65536)
            right = reader.readUnsigned(atMost: 65536)
            top = reader.readUnsigned(atMost: 65536)
            bottom = reader.readUnsigned(atMost: 65536)
        }
        // 7-19 to 7-22: cropping counts chroma samples, and lines of both fields.
        let isGray = chromaFormat == 0 || hasSeparateColorPlanes
        let unitX = isGray || chromaFormat == 3 ? 1 : 2
        let unitY = (!isGray && chromaFormat == 1 ? 2 : 1) * (hasFramesOnly ? 1 : 2)
        width = codedWidth - (left + right) * unitX
        height = codedHeight - (top + bottom) * unitY
        bitsBeforeVideoUsability = reader.position
        let hasVideoUsability = reader.readBit()
        guard reader.isValid, width > 0, height > 0 else {
            throw .corruptH264("read an SPS", "The sequence parameter set is cut off or damaged.")
        }
        videoUsability = hasVideoUsability ? SequenceParameterSet.VideoUsability(&reader) : nil
    }

    /// Frames per second by the video usability information; nil without timing.
    public var frameRate: FrameRate? {
        guard let timing = videoUsability?.timing, timing.unitsPerTick > 0, timing.timeScale > 0 else { return nil }
        // A tick is a field. Halved where 32 bits hold no more.
        var frames = UInt64(timing.timeScale)
        var seconds = UInt64(timing.unitsPerTick) * 2
        while frames > UInt64(Int32.max) || seconds > UInt64(Int32.max) {
            frames /= 2
            seconds /= 2
        }
        return FrameRate(Int32(frames), per: Int32(seconds))
    }

    /// Color matrix and range; nil when neither is stated.
    public var color: ColorDescription? {
        guard let signal = videoUsability?.signal else { return nil }
        return ColorDescription(
            matrix: signal.matrix == 1 ? .bt709 : .bt601, range: signal.isFullRange ? .full : .limited)
    }

    /// The same parameter set with other video usability information.
    ///
    /// - Parameters:
    ///   - unit: the NAL unit that was parsed.
    ///   - videoUsability: takes the place of what the unit has.
    /// - Returns: a NAL unit, without a start code.
    public func replacingVideoUsability(of unit: NALUnit, with videoUsability: SequenceParameterSet.VideoUsability)
        -> [UInt8]
    {
        var reader = BitReader(unit.bytes)
        var writer = BitWriter()
        for _ in 0..<bitsBeforeVideoUsability { writer.write(reader.readBit()) }
        writer.write(true)
        videoUsability.write(to: &writer)
        return writer.nalUnit(header: unit.bytes[0])
    }
}

/// How slices state the order of pictures in output (8.2.1).
struct PictureOrder: Sendable, Hashable {
    /// pic_order_cnt_type.
    var type = 0
    /// The bits of pic_order_cnt_lsb, of type 0.
    var bits = 0
    /// Of type 1.
    var isDeltaAlwaysZero = false

    fileprivate init(_ reader: inout BitReader) {
        type = reader.readUnsigned(atMost: 2)
        switch type {
        case 0: bits = reader.readUnsigned(atMost: 12) + 4
        case 1:
            isDeltaAlwaysZero = reader.readBit()
            _ = reader.readSigned()
            _ = reader.readSigned()
            for _ in 0..<reader.readUnsigned(atMost: 255) { _ = reader.readSigned() }
        default: break
        }
    }
}

/// How samples are coded, which the profiles from High on state.
private struct SampleFormat {
    var chromaFormat = 1
    var hasSeparatePlanes = false
    var lumaBitDepth = 8
    var chromaBitDepth = 8

    init(_ reader: inout BitReader, profile: UInt8) {
        guard [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profile) else { return }
        chromaFormat = reader.readUnsigned(atMost: 3)
        if chromaFormat == 3 { hasSeparatePlanes = reader.readBit() }
        lumaBitDepth = reader.readUnsigned(atMost: 6) + 8
        chromaBitDepth = reader.readUnsigned(atMost: 6) + 8
        _ = reader.readBit()
        guard reader.readBit() else { return }
        for list in 0..<(chromaFormat == 3 ? 12 : 8) where reader.readBit() {
            // 7.3.2.1.1.1
            var (last, next): (Int32, Int32) = (8, 8)
            for _ in 0..<(list < 6 ? 16 : 64) {
                if next != 0 { next = (last &+ reader.readSigned()) & 0xFF }
                if next != 0 { last = next }
            }
        }
    }
}
