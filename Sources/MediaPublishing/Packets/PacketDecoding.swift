import FrameProcessing
import PacketCapturing
import VideoCapturing

/// Decodes the pictures of a packet capture once for all consumers of frames. Its decoder exists from a key frame on, until
/// nothing needs frames.
///
/// `@unchecked Sendable`: the decoder and its counts are used on the capture's thread, of which there is one at a time, and by
/// ``flush(output:)`` when there is none.
final class PacketDecoding: @unchecked Sendable {
    private let decoders: [VideoDecoderFactory]
    private let orientation: VideoOrientation
    private let processor = FrameProcessor()
    private let shared = Locked(Shared())

    private struct Shared {
        var factory: VideoDecoderFactory?
        var damaged: UInt64 = 0
    }

    @exclusivity(unchecked) private var decoder: (any VideoDecoder)?
    @exclusivity(unchecked) private var isDecoding = false
    /// The packets that the decoder has not returned yet, by the times that it got, which are their places.
    @exclusivity(unchecked) private var pending: [Int64: MediaPacket] = [:]
    @exclusivity(unchecked) private var place: Int64 = 0
    /// The number of the last packet, and how many are missing since the last frame.
    @exclusivity(unchecked) private var lastPacket: UInt64?
    @exclusivity(unchecked) private var missing: UInt64 = 0
    @exclusivity(unchecked) private var lastTime: MediaTime?
    @exclusivity(unchecked) private var nextNumber: UInt64 = 0

    /// How many pictures a decoder holds back at most (ITU-T H.264, max_num_reorder_frames).
    private static let maximumHeld: Int64 = 16

    init(_ decoders: [VideoDecoderFactory], orientation: VideoOrientation) {
        self.decoders = decoders
        self.orientation = orientation
    }

    /// Packets that could not be decoded.
    var damaged: UInt64 { shared.withLock { $0.damaged } }

    /// Whether there is a decoder for a codec.
    func canDecode(_ codec: Codec) -> Bool { factory(for: codec) != nil }

    /// Settles the codec of the packets.
    func begin(_ codec: Codec) {
        let factory = factory(for: codec)
        shared.withLock { $0.factory = factory }
    }

    private func factory(for codec: Codec) -> VideoDecoderFactory? {
        let names: [Codec: String] = [.h264: "H264", .vp8: "VP80", .jpeg: "MJPG"]
        guard let name = names[codec], let code = FourCC(name) else { return nil }
        return decoders.first { $0.fourCC == code }
    }

    /// Decodes a packet, and hands the frames that come of it to `output`.
    ///
    /// - Returns: whether a key frame is needed, from which decoding can begin.
    func decode(_ packet: MediaPacket, output: (VideoFrame) -> Void) -> Bool {
        if decoder == nil {
            guard packet.isKeyFrame else { return true }
            decoder = try? shared.withLock { $0.factory }?.makeDecoder()
        }
        guard let decoder else { return false }
        if let lastPacket, packet.sequenceNumber > lastPacket { missing &+= packet.sequenceNumber - lastPacket - 1 }
        lastPacket = packet.sequenceNumber
        place += 1
        pending[place] = packet
        pending[place - PacketDecoding.maximumHeld - 1] = nil
        isDecoding = true
        defer { isDecoding = false }
        do {
            try packet.data.withUnsafeBytes { bytes in
                try decoder.decode(bytes, time: .nanoseconds(place)) { try show($0, of: $1, decoder, output) }
            }
        } catch {
            pending[place] = nil
            shared.withLock { $0.damaged += 1 }
        }
        return false
    }

    /// Hands the frames that the decoder holds back to `output`, after the last packet, and releases it. From inside `output`,
    /// as at a stop there, it does nothing.
    func flush(output: (VideoFrame) -> Void) {
        guard let decoder, !isDecoding else { return }
        isDecoding = true
        do {
            try decoder.flush { try show($0, of: $1, decoder, output) }
        } catch {
            shared.withLock { $0.damaged += 1 }
        }
        isDecoding = false
        end()
    }

    private func show(
        _ buffer: PixelBuffer, of place: Duration, _ decoder: any VideoDecoder, _ output: (VideoFrame) -> Void
    ) throws {
        guard let packet = pending.removeValue(forKey: place.nanoseconds) else { return }
        output(frame(decoder.isInterlaced ? try processor.deinterlace(buffer) : buffer, packet))
    }

    /// Releases the decoder.
    func end() {
        guard decoder != nil else { return }
        decoder = nil
        pending = [:]
        lastPacket = nil
    }

    private func frame(_ buffer: PixelBuffer, _ packet: MediaPacket) -> VideoFrame {
        let time = packet.timestamp.increasing(after: lastTime)
        lastTime = time
        nextNumber &+= missing
        missing = 0
        var frame = VideoFrame(buffer: buffer, timestamp: time, sequenceNumber: nextNumber)
        nextNumber &+= 1
        frame.attributes = packet.attributes
        if orientation != .up { frame.orientation = orientation }
        return frame
    }
}
