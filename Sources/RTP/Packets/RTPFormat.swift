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

    /// The format of a codec; nil for a codec that is not carried.
    package init?(_ codec: Codec) {
        switch codec {
        case .vp8: self = .vp8
        case .h264: self = .h264
        case .opus: self = .opus
        default: return nil
        }
    }

    /// The codec.
    package var codec: Codec {
        switch self {
        case .vp8: .vp8
        case .h264: .h264
        case .opus: .opus
        }
    }

    /// Ticks of the timestamp per second.
    package var clockRate: Int { self == .opus ? 48_000 : 90_000 }

    /// The name in session descriptions, with what follows it.
    package var encodingName: String {
        switch self {
        case .vp8: "VP8/90000"
        case .h264: "H264/90000"
        case .opus: "opus/48000/2"
        }
    }
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
