import CLibV4L2
import FrameProcessing
import H264Bitstream
import V4L2Support
import VideoCapturing

/// Makes packets of a stream's filled buffers. Belongs to the capture thread.
///
/// Each packet is copied once, out of the driver's memory into memory that is recycled: a driver has few buffers, while
/// packets may be kept for long (a recorder keeps seconds of them), and a copy of some kilobytes costs microseconds. A key
/// frame that comes without its parameter sets is copied twice.
final class PacketMaker {
    /// The codec of the packets.
    let codec: Codec
    /// The parameter sets that came so far; nil for JPEG.
    private(set) var sets: ParameterSets?

    private let stream: CaptureStream
    private let interval: Duration
    private let pool = PacketBufferPool(capacity: 96)
    private var scratch: [UInt8] = []
    /// What the buffer has that was read last, and its number.
    private var content: (index: Int, content: ParameterSets.Content)?
    private let color: ColorDescription

    /// - Parameters:
    ///   - stream: of a compressed format.
    ///   - sets: the parameter sets of an earlier stream of the camera.
    ///   - rate: the negotiated rate.
    init(_ stream: CaptureStream, sets: ParameterSets?, rate: FrameRate?) {
        self.stream = stream
        codec = Codec(stream.format.fourCC) ?? .jpeg
        interval = rate?.frameInterval ?? .milliseconds(33)
        if codec != .jpeg { self.sets = sets?.codec == codec ? sets : ParameterSets(codec) }
        let isHighDefinition = stream.format.height >= 720
        color = codec == .jpeg ? .jpeg : stream.format.color ?? (isHighDefinition ? .bt709 : .bt601)
    }

    /// The description of the track, with the parameter sets that came so far.
    func description(_ id: TrackID, _ attributes: FrameAttributes, rate: FrameRate?) -> TrackDescription {
        TrackDescription(
            id: id, codec: codec,
            media: .video(
                TrackDescription.Video(
                    width: stream.format.width, height: stream.format.height, orientation: attributes.orientation,
                    color: sets?.color ?? color, pixelAspect: attributes.pixelAspect, frameRate: rate)),
            decoderConfiguration: sets?.decoderConfiguration.map { bytes in
                bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
            })
    }

    /// Keeps the parameter sets of a buffer; whether it has nothing else.
    func keepSets(of captured: CapturedBuffer) -> Bool {
        content = nil
        guard sets != nil, captured.flags & UInt32(V4L2_BUF_FLAG_ERROR) == 0 else { return false }
        let found = sets!.read(stream.bytes(of: captured))
        content = (captured.index, found)
        return found == .setsOnly
    }

    /// The packet in a buffer that ``keepSets(of:)`` has read; nil when it is damaged, or a key frame whose parameter sets
    /// never came.
    func make(_ captured: CapturedBuffer, timestamp: MediaTime) -> MediaPacket? {
        let bytes = stream.bytes(of: captured)
        let format = stream.format
        let data: PacketBuffer
        var isKey = true
        if let sets {
            guard let content, content.index == captured.index,
                case .picture(let isKeyFrame, let isComplete) = content.content,
                !isFull(captured), PacketMaker.beginsWithStartCode(bytes)
            else { return nil }
            isKey = isKeyFrame
            if isKey, !isComplete {
                guard sets.isComplete else { return nil }
                scratch.removeAll(keepingCapacity: true)
                sets.append(bytes, to: &scratch)
                data = scratch.withUnsafeBytes { pool.makeBuffer(copying: $0) }
            } else {
                data = pool.makeBuffer(copying: bytes)
            }
        } else {
            guard let header = try? JPEGHeader(bytes), header.width == format.width, header.height == format.height
            else {
                return nil
            }
            data = pool.makeBuffer(copying: bytes)
        }
        return MediaPacket(
            data: data, track: CameraPacketSource.track, timestamp: timestamp, duration: interval, isKeyFrame: isKey,
            width: format.width, height: format.height,
            attributes: FrameAttributes(color: sets?.color ?? color))
    }

    /// Whether a buffer is full to its last byte: then a larger packet was cut off, or the buffer was never filled, as the
    /// first one of v4l2loopback.
    private func isFull(_ captured: CapturedBuffer) -> Bool {
        Int(captured.bytesUsed[0]) >= stream.buffers[captured.index].mappings[0].byteCount
    }

    private static func beginsWithStartCode(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.starts(with: [0, 0, 1]) || bytes.starts(with: [0, 0, 0, 1])
    }
}
