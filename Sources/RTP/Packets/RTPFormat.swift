import CaptureCore
import H264Bitstream

/// How the packets of a codec are carried in RTP.
package enum RTPFormat: Sendable, Hashable {
    /// VP8 (RFC 7741). Each packet says to which temporal layer it belongs, so that a server can leave layers out.
    case vp8
    /// H.264 with the packetization mode 1 (RFC 6184): single NAL units, parameter sets together in one packet (STAP-A),
    /// and fragments (FU-A).
    case h264
    /// Opus (RFC 7587).
    case opus
    /// AAC with a header for each access unit (RFC 3640, AAC-hbr); the sample rate and the number of channels.
    case aac(rate: Int, channels: Int)

    /// The format of a codec that needs no parameters, as WebRTC has them; nil for any other.
    package init?(_ codec: Codec) {
        switch codec {
        case .vp8: self = .vp8
        case .h264: self = .h264
        case .opus: self = .opus
        default: return nil
        }
    }

    /// The format of a track; nil for a codec that is not carried.
    package init?(_ track: TrackDescription) {
        if track.codec == .aac, case .audio(let audio) = track.media, audio.sampleRate > 0 {
            self = .aac(rate: audio.sampleRate, channels: audio.channelCount)
        } else {
            self.init(track.codec)
        }
        guard isAudio == track.isAudio else { return nil }
    }

    /// The codec.
    package var codec: Codec {
        switch self {
        case .vp8: .vp8
        case .h264: .h264
        case .opus: .opus
        case .aac: .aac
        }
    }

    /// Whether it carries sound.
    package var isAudio: Bool {
        switch self {
        case .vp8, .h264: false
        case .opus, .aac: true
        }
    }

    /// Ticks of the timestamp per second.
    package var clockRate: Int {
        switch self {
        case .vp8, .h264: 90_000
        case .opus: 48_000
        case .aac(let rate, _): rate
        }
    }

    /// The name in session descriptions, with what follows it.
    package var encodingName: String {
        switch self {
        case .vp8: "VP8/90000"
        case .h264: "H264/90000"
        case .opus: "opus/48000/2"
        case .aac(let rate, let channels): "mpeg4-generic/\(rate)/\(channels)"
        }
    }
}

extension TrackDescription {
    /// Whether it is of sound.
    package var isAudio: Bool { if case .audio = media { true } else { false } }
}

/// Cuts encoded frames into the payloads of packets. A value for one thread at a time.
struct Packetizer {
    /// Takes a payload: whether it is the last one of its frame, its size, and what writes it.
    typealias Output = (_ isLast: Bool, _ size: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> Void

    private let format: RTPFormat
    private var vp8: VP8Packetizer
    private var h264 = H264Packetizer()
    private var hasBegun = false
    /// Frames that are too large for one packet and cannot be cut.
    private(set) var oversized: UInt64 = 0

    init(_ format: RTPFormat, pictureID: UInt16) {
        self.format = format
        vp8 = VP8Packetizer(pictureID: pictureID)
    }

    /// Whether the next packet begins something, and is marked for that: sound after silence.
    private mutating func marksBeginning() -> Bool {
        defer { hasBegun = true }
        return !hasBegun
    }

    /// Cuts one frame.
    ///
    /// - Parameters:
    ///   - packet: the frame.
    ///   - bytes: its data; not empty.
    ///   - room: the maximum size of a payload.
    ///   - output: takes the payloads in their order; `isLast` becomes the marker bit.
    mutating func packetize(
        _ packet: MediaPacket, _ bytes: UnsafeRawBufferPointer, room: Int, output: Output
    ) {
        switch format {
        case .vp8: vp8.packetize(packet, bytes, room: room, output: output)
        case .h264: h264.packetize(bytes, room: room, output: output)
        case .opus:
            guard bytes.count <= room else {
                oversized += 1
                return
            }
            // RFC 7587, 4.1: the marker is for the first packet after silence that was not sent.
            output(marksBeginning(), bytes.count) { $0.write(bytes, at: 0) }
        case .aac:
            guard bytes.count < 1 << 13 else {
                oversized += 1
                return
            }
            AACPacketizer.packetize(bytes, room: room, output: output)
        }
    }
}

/// Puts an access unit of AAC behind its header: 13 bits of its size, and 3 of its index, which is zero (RFC 3640, 3.3.6).
enum AACPacketizer {
    /// The length of the header in bits, and the header.
    static let headerSize = 4

    /// - Parameter unit: less than 2¹³ bytes. One that is larger than a packet is cut; each part states the size of the whole.
    static func packetize(_ unit: UnsafeRawBufferPointer, room: Int, output: Packetizer.Output) {
        for part in EqualParts(unit.count, limit: room - headerSize) {
            output(part.upperBound == unit.count, headerSize + part.count) { payload in
                payload.write(UInt16(16), at: 0)
                payload.write(UInt16(unit.count << 3), at: 2)
                payload.write(unit.slice(part), at: headerSize)
            }
        }
    }
}

/// A whole in as few parts as its limit allows, all of nearly the same size: better for pacing than full parts and a rest.
struct EqualParts: Sequence, IteratorProtocol {
    private var index = 0
    private var left: Int
    private var partsLeft: Int

    /// - Parameters:
    ///   - size: what is cut.
    ///   - limit: the maximum size of a part.
    init(_ size: Int, limit: Int) {
        left = size
        partsLeft = (size + limit - 1) / limit
    }

    mutating func next() -> Range<Int>? {
        guard partsLeft > 0 else { return nil }
        let size = (left + partsLeft - 1) / partsLeft
        defer {
            index += size
            left -= size
            partsLeft -= 1
        }
        return index..<index + size
    }
}
