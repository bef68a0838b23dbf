import VideoCapturing

/// Makes a live stream of WebM or Matroska of the packets that are sent to one receiver: a Segment and clusters of unknown
/// size, as players of live streams expect. Nothing is written here; the caller sends the bytes that precede each packet, and
/// then the packet.
///
/// Tracks of VP8, and of H.264 with its `avcC` record and packets of NAL units behind lengths of four bytes
/// (ISO/IEC 14496-15). Timestamps are those of the capture, to the millisecond, from 0 at the first packet. Not
/// thread-safe.
package struct MatroskaStream {
    private var scratch = EBML(capacity: 1024)
    private let tracks: [TrackDescription]
    private var clocks: [WebMClock]
    private var start: MediaTime?
    /// The timestamp of the open cluster.
    private var cluster: Int64?
    /// The longest cluster, in milliseconds; a block's time has 16 bits.
    private static let maximumClusterLength: Int64 = 5000

    /// Whether a codec can be carried.
    package static func carries(_ track: TrackDescription) -> Bool {
        guard case .video = track.media else { return false }
        return track.codec == .vp8 || track.codec == .h264
    }

    /// A stream of one or several tracks that can be carried; see ``carries(_:)``.
    package init(_ tracks: [TrackDescription]) {
        precondition((1...WebMLayout.maximumTrackCount).contains(tracks.count), "a number of tracks that fits")
        self.tracks = tracks
        clocks = tracks.map { _ in WebMClock() }
    }

    /// Appends what precedes a packet: the header before the first one, the start of a cluster before a key frame of the
    /// first track, and that of the packet's block.
    ///
    /// - Parameters:
    ///   - packet: a packet of one of the tracks.
    ///   - count: the number of bytes that will follow.
    ///   - output: the bytes to send.
    package mutating func appendPrefix(of packet: MediaPacket, bytes count: Int, to output: inout [UInt8]) {
        scratch.removeAll()
        if start == nil {
            _ = WebMLayout(appendingHeaderTo: &scratch, tracks: tracks, isSeekable: false)
            start = packet.timestamp
        }
        let index = tracks.firstIndex { $0.id == packet.track } ?? 0
        let since = start ?? packet.timestamp
        let time = clocks[index].timestamp(of: packet, since: since)
        let begins = packet.isKeyFrame && index == 0
        if cluster.map({ begins || time - $0 >= MatroskaStream.maximumClusterLength }) ?? true {
            scratch.openMaster(.cluster)
            scratch.unsigned(.timestamp, UInt64(time))
            cluster = time
        }
        scratch.appendBlockHeader(track: index + 1, offset: time - (cluster ?? time), packet, bytes: count)
        clocks[index].advance(to: time, packet, since: since)
        scratch.builder.withUnsafeBytes { output.append(contentsOf: $0) }
    }
}

extension EBML {
    /// The start of a SimpleBlock: everything before the packet's bytes.
    mutating func appendBlockHeader(track: Int, offset: Int64, _ packet: MediaPacket, bytes: Int) {
        header(.simpleBlock, size: 4 + bytes)
        appendBlockFields(
            track: track, offset: offset, flags: (packet.isKeyFrame ? 0x80 : 0) | (packet.isDroppable ? 0x01 : 0))
    }

    /// A block whose decoded sound is longer than its audible part: a BlockGroup with everything but the packet's
    /// bytes, which follow.
    ///
    /// - Parameter padding: the time to discard at the end of the decoded sound.
    mutating func appendGroupHeader(track: Int, offset: Int64, padding: Duration, bytes: Int) {
        var discard = EBML(capacity: 16)
        discard.signed(.discardPadding, padding.nanoseconds)
        var block = EBML(capacity: 16)
        block.header(.block, size: 4 + bytes)
        // A BlockGroup without a reference is a key frame; SimpleBlocks alone have a flag for it.
        block.appendBlockFields(track: track, offset: offset, flags: 0)
        header(.blockGroup, size: discard.count + block.count + bytes)
        append(discard)
        append(block)
    }

    private mutating func appendBlockFields(track: Int, offset: Int64, flags: UInt64) {
        // As a variable-length number of one byte.
        append(bigEndian: 0x80 | UInt64(track), byteCount: 1)
        append(bigEndian: UInt64(bitPattern: offset), byteCount: 2)
        append(bigEndian: flags, byteCount: 1)
    }
}

/// Converts the capture times of one track to the file's milliseconds, counted from the file's first packet.
struct WebMClock {
    private var last: Int64 = -1
    private var lastElapsed: Int64 = 0
    /// The end of the last frame in milliseconds with fractions: its capture time and its duration.
    private(set) var end: Double = 0
    /// How much earlier than its timestamp the decoded sound of a packet begins.
    private let delay: Int64

    /// The clock of a track.
    init(_ track: TrackDescription? = nil) {
        delay = track.map { OpusSyntax.decoderDelay(of: $0).nanoseconds } ?? 0
    }

    /// The time of a packet: the nearest millisecond, never before that of the last packet.
    ///
    /// Two packets nearest to the same millisecond are separated by one, since readers may reject a second frame with the
    /// same timestamp, as ffmpeg's encoders do. Further ones share the time, which Matroska allows, so that none is ever
    /// more than 1.5 ms off.
    func timestamp(of packet: MediaPacket, since start: MediaTime) -> Int64 {
        let elapsed = max(0, (packet.timestamp - start).nanoseconds)
        let nearest = (elapsed / 500_000 + 1) / 2
        return nearest == last ? last + 1 : max(nearest, last)
    }

    /// Records that the packet was written with that time.
    mutating func advance(to time: Int64, _ packet: MediaPacket, since start: MediaTime) {
        let elapsed = max(0, (packet.timestamp - start).nanoseconds)
        // A packet without a duration is shown as long as the one before it.
        let known = packet.duration.nanoseconds
        let duration = known > 0 ? known : max(0, elapsed - lastElapsed)
        last = time
        lastElapsed = elapsed
        end = max(end, Double(elapsed) / 1e6 + Double(duration) / 1e6 - Double(delay) / 1e6)
    }
}
