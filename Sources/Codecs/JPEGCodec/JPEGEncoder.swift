import CJPEG
import FrameProcessing
import VideoCapturing

/// Encodes frames as JPEG pictures of 4:2:0 with libjpeg-turbo, or passes on the JPEG that a frame already has.
///
/// I420, YV12, NV12, NV21, YUY2 and UYVY are read where they lie, a strip at a time. JPEG is of full range: frames of
/// limited range are stretched on the way. It is of BT.601 too: BT.709, RGB and other formats throw `formatUnsupported`
/// (convert them with `FrameProcessor.convert`; ``canEncode(_:)`` tells). JPEG carries no orientation: packets bring it
/// along, and most viewers need pixels that are upright.
///
/// Each packet is a whole picture: a key frame, of which none else depends. Frames may change their size at any time.
///
/// Not to be used from two threads at once.
public final class JPEGEncoder: VideoEncoder {
    /// How true the pictures are, from 1 to 100, on libjpeg's scale.
    public let quality: Int
    /// Whether a frame that has a JPEG becomes a packet of exactly these bytes.
    public let passesThrough: Bool
    /// Whether each picture gets Huffman tables of its own.
    public let optimizesHuffmanTables: Bool

    private let context: OpaquePointer
    private let packets = PacketBufferPool()
    private var lastTimestamp: MediaTime?
    private var lastInterval = (30 as FrameRate).frameInterval

    /// - Parameters:
    ///   - quality: from 1 to 100, on libjpeg's scale; 80 is what webcams and viewers take for good.
    ///   - passesThrough: whether a frame that has a JPEG (`VideoFrame.jpeg`) becomes a packet of exactly these bytes.
    ///   - optimizesHuffmanTables: makes pictures some percent smaller, and encoding about twice as slow.
    /// - Throws: `invalidConfiguration`, `outOfMemory`.
    public init(
        quality: Int = 80, passesThrough: Bool = true, optimizesHuffmanTables: Bool = false
    ) throws(CodecError) {
        guard (1...100).contains(quality) else {
            throw CodecError(
                .invalidConfiguration, operation: "set up the encoder", subject: "JPEG",
                message: "The quality is \(quality); choose 1 to 100.")
        }
        guard let context = cjpeg_encoder_create(Int32(quality), optimizesHuffmanTables) else {
            throw .noJPEGContext("set up the encoder")
        }
        self.quality = quality
        self.passesThrough = passesThrough
        self.optimizesHuffmanTables = optimizesHuffmanTables
        self.context = context
    }

    deinit {
        cjpeg_encoder_destroy(context)
    }

    /// Describes the packets; nil before the first.
    public private(set) var track: TrackDescription?
    /// The size that `track` states.
    private var described: PixelSize?

    /// Every packet is a key frame.
    public func requestKeyFrame() {}

    /// Ignored: the quality decides.
    public func setBitrate(_ bitrate: Int) {}

    public func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        let duration = interval(of: frame)
        if passesThrough, let jpeg = frame.jpeg {
            let data = jpeg.withUnsafePlanes { bases in
                packets.makeBuffer(
                    copying: UnsafeRawBufferPointer(start: bases[0], count: jpeg.planes[0].rowBytes))
            }
            return try output(packet(data, frame, duration, width: jpeg.width, height: jpeg.height))
        }
        try output(packet(try encode(frame), frame, duration, width: frame.width, height: frame.height))
    }

    /// Whether the samples of a frame are taken as they are.
    public static func canEncode(_ frame: VideoFrame) -> Bool {
        arrangement(of: frame.pixelFormat) != nil && frame.color.matrix == .bt601
    }

    private func encode(_ frame: VideoFrame) throws(CodecError) -> PacketBuffer {
        let arrangement = try arrangement(of: frame)
        let buffer = frame.buffer
        let planes = buffer.planes
        // YV12 has V before U.
        let (blue, red) = frame.pixelFormat == .yv12 ? (2, 1) : (min(1, planes.count - 1), planes.count - 1)
        return try buffer.withUnsafePlanes { bases throws(CodecError) in
            func plane(_ index: Int) -> UnsafePointer<UInt8> { bases[index].assumingMemoryBound(to: UInt8.self) }
            var source = cjpeg_source(
                width: Int32(buffer.width), height: Int32(buffer.height), packing: arrangement.packing,
                luma: plane(0), luma_stride: planes[0].bytesPerRow, layout: arrangement.chroma,
                chroma: (plane(blue), plane(red)),
                chroma_stride: (planes[blue].bytesPerRow, planes[red].bytesPerRow),
                is_limited: frame.color.range == .limited)
            var bytes: UnsafePointer<UInt8>?
            var count = 0
            let result = cjpeg_encoder_encode(context, &source, &bytes, &count)
            guard result == CJPEG_OK else {
                throw CodecError(
                    jpeg: result, detail: String(cString: cjpeg_encoder_message(context)),
                    operation: JPEGEncoder.operation, nextStep: "scale it with FrameProcessor first")
            }
            return packets.makeBuffer(copying: UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    /// Nil for pixel formats that are not encoded.
    private static func arrangement(of format: PixelFormat) -> (packing: cjpeg_packing, chroma: cjpeg_chroma)? {
        switch format {
        case .i420, .yv12: (CJPEG_NOT_PACKED, CJPEG_PLANAR)
        case .nv12: (CJPEG_NOT_PACKED, CJPEG_UV)
        case .nv21: (CJPEG_NOT_PACKED, CJPEG_VU)
        case .yuy2: (CJPEG_YUYV, CJPEG_PLANAR)
        case .uyvy: (CJPEG_UYVY, CJPEG_PLANAR)
        default: nil
        }
    }

    private func arrangement(of frame: VideoFrame) throws(CodecError) -> (packing: cjpeg_packing, chroma: cjpeg_chroma)
    {
        guard !frame.pixelFormat.isCompressed else {
            throw unsupported(
                "The frame is compressed and is not to be passed through; decode it with JPEGDecoder first.")
        }
        guard let arrangement = JPEGEncoder.arrangement(of: frame.pixelFormat) else {
            throw unsupported(
                "JPEG is encoded from NV12, I420, NV21, YV12, YUY2 and UYVY; convert \(frame.pixelFormat) frames with FrameProcessor.convert first."
            )
        }
        guard frame.color.matrix == .bt601 else {
            throw unsupported(
                "JPEG is of BT.601; convert BT.709 frames to ColorDescription.jpeg with FrameProcessor.convert first.")
        }
        return arrangement
    }

    private func unsupported(_ message: String) -> CodecError {
        CodecError(.formatUnsupported, operation: JPEGEncoder.operation, subject: "JPEG", message: message)
    }

    private func packet(
        _ data: PacketBuffer, _ frame: VideoFrame, _ duration: Duration, width: Int, height: Int
    ) -> MediaPacket {
        var attributes = frame.attributes
        attributes.color = .jpeg
        if described != .init(width: width, height: height) {
            described = .init(width: width, height: height)
            track = TrackDescription(
                id: 0, codec: .jpeg,
                media: .video(
                    TrackDescription.Video(
                        width: width, height: height, orientation: frame.orientation, color: .jpeg,
                        pixelAspect: frame.pixelAspect, frameRate: frame.estimatedFrameRate)))
        }
        return MediaPacket(
            data: data, timestamp: frame.timestamp, duration: duration, isKeyFrame: true, isDroppable: true,
            width: width, height: height, sequenceNumber: frame.sequenceNumber, attributes: attributes)
    }

    /// As far as it is known when the frame comes.
    private func interval(of frame: VideoFrame) -> Duration {
        defer { lastTimestamp = frame.timestamp }
        if let rate = frame.estimatedFrameRate {
            lastInterval = rate.frameInterval
        } else if let lastTimestamp, frame.timestamp > lastTimestamp {
            lastInterval = frame.timestamp - lastTimestamp
        }
        return lastInterval
    }

    private static let operation = "encode a frame"
}
