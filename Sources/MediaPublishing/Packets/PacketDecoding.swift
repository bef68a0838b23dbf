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
    /// Packets that wait, from the last key frame on or from where the decoder stands.
    @exclusivity(unchecked) private var waiting: [MediaPacket] = []
    /// When the last key frame came, how long after the one before it, and when the last one came that was decoded.
    @exclusivity(unchecked) private var keyFrames: (last: MediaTime, interval: Duration?, decoded: MediaTime)?
    @exclusivity(unchecked) private var waitingBytes = 0
    /// The rate of the frames, while key frames alone are decoded.
    @exclusivity(unchecked) private var sparseRate: FrameRate?

    /// How many packets may wait; of more, the oldest are decoded.
    private static let maximumWaiting = (packets: 300, bytes: 8 << 20)
    /// How many packets are decoded for one that comes, so that a capture is not held up by those that have waited.
    private static let maximumPortion = 8
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
        let names = [
            "h264": "H264", "vp8": "VP80", "jpeg": "MJPG", "hevc": "HEVC", "vp9": "VP90", "av1": "AV01",
        ]
        guard let name = names[codec.rawValue], let code = FourCC(name) else { return nil }
        return decoders.first { $0.fourCC == code }
    }

    /// Decodes a packet, and hands the frames that come of it to `output`.
    ///
    /// Where key frames come at the rate that is of use, they are decoded alone, and of them those that are due. The packets
    /// after them wait: they are decoded, and not shown, once more frames are wanted.
    ///
    /// - Parameter rate: the highest rate that is of use; nil for no limit.
    /// - Returns: whether a key frame is needed, from which decoding can begin.
    func decode(_ packet: MediaPacket, rate: FrameRate?, output: (VideoFrame) -> Void) -> Bool {
        if decoder == nil {
            guard packet.isKeyFrame else { return true }
            decoder = try? shared.withLock { $0.factory }?.makeDecoder()
        }
        guard let decoder else { return false }
        if let lastPacket, packet.sequenceNumber > lastPacket { missing &+= packet.sequenceNumber - lastPacket - 1 }
        lastPacket = packet.sequenceNumber
        let portion = isDue(packet, rate) ? PacketDecoding.maximumPortion : 0
        waiting.append(packet)
        waitingBytes += packet.data.count
        for number in 0..<waiting.count where number < portion || isOverfull { decodeNext(decoder, output) }
        return false
    }

    private var isOverfull: Bool {
        waiting.count > PacketDecoding.maximumWaiting.packets || waitingBytes > PacketDecoding.maximumWaiting.bytes
    }

    /// Whether to decode a packet, with those that wait.
    private func isDue(_ packet: MediaPacket, _ rate: FrameRate?) -> Bool {
        let time = packet.decodeTimestamp ?? packet.timestamp
        // Key frames do not come exactly on time.
        let limit = (rate?.frameInterval ?? .zero) * 1.1
        let wasSparse = sparseRate != nil
        sparseRate = nil
        // It begins with a key frame that is shown: its rate says that others do not follow soon.
        if let rate, let keyFrames, let interval = keyFrames.interval, max(interval, time - keyFrames.last) < limit,
            wasSparse || packet.isKeyFrame
        {
            sparseRate = min(rate, FrameRate(interval: interval) ?? rate)
        }
        guard packet.isKeyFrame else { return sparseRate == nil }
        // Nothing that follows needs those before it.
        waiting.removeAll()
        waitingBytes = 0
        let interval = keyFrames.map { time - $0.last }
        let decoded = keyFrames?.decoded ?? time
        let isDue = sparseRate == nil || !wasSparse || time - decoded + (interval ?? .zero) > limit
        keyFrames = (time, interval, isDue ? time : decoded)
        return isDue
    }

    /// Decodes the oldest packet that waits.
    private func decodeNext(_ decoder: any VideoDecoder, _ output: (VideoFrame) -> Void) {
        let packet = waiting.removeFirst()
        waitingBytes -= packet.data.count
        decode(packet, decoder, output)
    }

    private func decode(_ packet: MediaPacket, _ decoder: any VideoDecoder, _ output: (VideoFrame) -> Void) {
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
    }

    /// Hands the frames that the decoder holds back to `output`, after the last packet, and releases it. From inside `output`,
    /// as at a stop there, it does nothing.
    func flush(output: (VideoFrame) -> Void) {
        guard let decoder, !isDecoding else { return }
        if sparseRate != nil { waiting.removeAll() }
        while !waiting.isEmpty { decodeNext(decoder, output) }
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
        // Pictures of packets that have waited are of before they were wanted.
        guard let packet = pending.removeValue(forKey: place.nanoseconds), waiting.isEmpty else { return }
        output(frame(decoder.isInterlaced ? try processor.deinterlace(buffer) : buffer, packet))
    }

    /// Releases the decoder.
    func end() {
        guard decoder != nil else { return }
        decoder = nil
        pending = [:]
        waiting = []
        waitingBytes = 0
        keyFrames = nil
        sparseRate = nil
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
        frame.estimatedFrameRate = sparseRate ?? frame.estimatedFrameRate
        if orientation != .up { frame.orientation = orientation }
        return frame
    }
}
