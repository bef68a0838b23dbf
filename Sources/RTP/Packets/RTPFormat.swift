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
    /// H.265 (RFC 7798): as H.264, with aggregation packets and fragmentation units.
    case h265
    /// VP9 without layers (RFC 9628).
    case vp9
    /// JPEG images (RFC 2435): baseline, 4:2:0 or 4:2:2, up to 2040 pixels in width and height.
    case jpeg
    /// G.711 (RFC 3551, 4.5.14): a byte for each sample, by the μ-law or the A-law.
    case g711(isALaw: Bool, rate: Int, channels: Int)

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
        switch (track.codec, track.media) {
        case (.aac, .audio(let audio)) where audio.sampleRate > 0:
            self = .aac(rate: audio.sampleRate, channels: audio.channelCount)
        case (.muLaw, .audio(let audio)), (.aLaw, .audio(let audio)):
            guard audio.sampleRate > 0, (1...64).contains(audio.channelCount) else { return nil }
            self = .g711(isALaw: track.codec == .aLaw, rate: audio.sampleRate, channels: audio.channelCount)
        case (.h265, _): self = .h265
        case (.vp9, _): self = .vp9
        case (.jpeg, _): self = .jpeg
        default: self.init(track.codec)
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
        case .h265: .h265
        case .vp9: .vp9
        case .jpeg: .jpeg
        case .g711(let isALaw, _, _): isALaw ? .aLaw : .muLaw
        }
    }

    /// Whether it carries sound.
    package var isAudio: Bool {
        switch self {
        case .vp8, .vp9, .h264, .h265, .jpeg: false
        case .opus, .aac, .g711: true
        }
    }

    /// Ticks of the timestamp per second.
    package var clockRate: Int {
        switch self {
        case .vp8, .vp9, .h264, .h265, .jpeg: 90_000
        case .opus: 48_000
        case .aac(let rate, _), .g711(_, let rate, _): rate
        }
    }

    /// The name in session descriptions, with what follows it.
    package var encodingName: String {
        switch self {
        case .vp8: "VP8/90000"
        case .h264: "H264/90000"
        case .opus: "opus/48000/2"
        case .aac(let rate, let channels): "mpeg4-generic/\(rate)/\(channels)"
        case .h265: "H265/90000"
        case .vp9: "VP9/90000"
        case .jpeg: "JPEG/90000"
        case .g711(let isALaw, let rate, let channels):
            (isALaw ? "PCMA" : "PCMU") + "/\(rate)" + (channels == 1 ? "" : "/\(channels)")
        }
    }

    /// The maximum width and height of JPEG images.
    package static let maximumImageSide = RTPImage.maximumSide

    /// The payload type that RFC 3551, 6 fixes; nil where the sender chooses one.
    package var fixedPayloadType: UInt8? {
        switch self {
        case .jpeg: 26
        case .g711(let isALaw, 8000, 1): isALaw ? 8 : 0
        default: nil
        }
    }
}

extension Codec {
    /// Codecs that are passed on and not encoded here, by FFmpeg's names: H.265 and VP9, each packet a byte stream as with
    /// H.264, or a frame; G.711.
    static let h265 = Codec(rawValue: "hevc")
    static let vp9 = Codec(rawValue: "vp9")
    static let muLaw = Codec(rawValue: "pcm_mulaw")
    static let aLaw = Codec(rawValue: "pcm_alaw")
}

extension TrackDescription {
    /// Whether it is of sound.
    package var isAudio: Bool { if case .audio = media { true } else { false } }
}

/// Cuts encoded frames into the payloads of packets. A value for one thread at a time.
struct Packetizer {
    /// Takes a payload, and whether it is the last one of its frame.
    typealias Output = (_ isLast: Bool, Payload) -> Void

    private let format: RTPFormat
    private var vp8: VP8Packetizer
    private var vp9: VP9Packetizer
    private var units: NALUnitPacketizer
    private var hasBegun = false
    /// Frames that are too large for one packet and cannot be cut.
    private(set) var oversized: UInt64 = 0
    /// Why the last image was left out; nil where it was not.
    private(set) var imageProblem: RTPImage.Problem?

    init(_ format: RTPFormat, pictureID: UInt16) {
        self.format = format
        vp8 = VP8Packetizer(pictureID: pictureID)
        vp9 = VP9Packetizer(pictureID: pictureID)
        units = NALUnitPacketizer(format == .h265 ? .h265 : .h264)
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
        case .vp9: vp9.packetize(packet, bytes, room: room, output: output)
        case .h264, .h265: units.packetize(bytes, room: room, output: output)
        case .jpeg:
            imageProblem = nil
            do throws(RTPImage.Problem) {
                try JPEGPacketizer.packetize(bytes, room: room, output: output)
            } catch {
                imageProblem = error
            }
        case .g711: output(marksBeginning(), Payload(bytes))
        case .opus:
            guard bytes.count <= room else {
                oversized += 1
                return
            }
            // RFC 7587, 4.1: the marker is for the first packet after silence that was not sent.
            output(marksBeginning(), Payload(bytes))
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
            var payload = Payload(unit.slice(part))
            payload.append(UInt16(16))
            payload.append(UInt16(unit.count << 3))
            output(part.upperBound == unit.count, payload)
        }
    }
}

/// A whole in as few parts as its limit allows, all of one size but for the last, which is little smaller: better for pacing
/// than full parts and a rest. The kernel takes datagrams of one size together.
struct EqualParts: Sequence, IteratorProtocol {
    private var index = 0
    private let end: Int
    private let size: Int

    /// - Parameters:
    ///   - size: what is cut.
    ///   - limit: the maximum size of a part.
    init(_ size: Int, limit: Int) {
        end = size
        let count = Swift.max(1, (size + limit - 1) / limit)
        self.size = (size + count - 1) / count
    }

    mutating func next() -> Range<Int>? {
        guard index < end else { return nil }
        let part = index..<Swift.min(end, index + size)
        index = part.upperBound
        return part
    }
}
