import CLibAV
import MediaContainers

/// Holds packets that the demuxer takes for damaged until it is known what follows.
///
/// Where transport streams were joined, the numbers of their packets do not go on, which looks like a loss, though the last
/// picture before the joint is whole. Then a key frame follows, and the decoder has to say whether the picture is whole. The
/// library's parsers put the mark on the packet before or on the right one, so one packet may be in between.
struct SuspectPackets: ~Copyable {
    /// Owned; the first is marked.
    private var waiting: [UnsafeMutablePointer<AVPacket>] = []
    /// Owned; to be decoded before anything else.
    private var ready: [UnsafeMutablePointer<AVPacket>] = []

    deinit {
        for packet in waiting + ready { SuspectPackets.free(packet) }
    }

    static func isMarked(_ packet: UnsafeMutablePointer<AVPacket>) -> Bool {
        packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0
    }

    /// Takes the contents of a packet of the file; false where it can be decoded at once.
    ///
    /// - Parameter rejected: counts the packets that are damaged.
    /// - Throws: for no memory.
    mutating func hold(
        _ packet: UnsafeMutablePointer<AVPacket>, rejected: inout UInt64, path: String
    ) throws(MediaFileError) -> Bool {
        let isMarked = SuspectPackets.isMarked(packet)
        guard isMarked || !waiting.isEmpty else { return false }
        guard let held = av_packet_alloc() else { throw .outOfMemory(path) }
        av_packet_move_ref(held, packet)
        if !isMarked, held.pointee.flags & AV_PKT_FLAG_KEY != 0 {
            ready += waiting + [held]
            waiting = []
        } else if waiting.count == 2 || isMarked {
            reject(&rejected)
            if isMarked { waiting = [held] } else { ready.append(held) }
        } else {
            waiting.append(held)
        }
        return true
    }

    /// The file has ended; returns whether with a marked packet.
    mutating func end(rejected: inout UInt64) -> Bool {
        let isLastMarked = waiting.last.map(SuspectPackets.isMarked) ?? false
        reject(&rejected)
        return isLastMarked
    }

    /// Moves the next packet that was held, and can be decoded, to `packet`; false when there is none.
    mutating func takeReady(into packet: UnsafeMutablePointer<AVPacket>) -> Bool {
        guard !ready.isEmpty else { return false }
        let next = ready.removeFirst()
        av_packet_move_ref(packet, next)
        packet.pointee.flags &= ~AV_PKT_FLAG_CORRUPT
        SuspectPackets.free(next)
        return true
    }

    private mutating func reject(_ count: inout UInt64) {
        for packet in waiting {
            if SuspectPackets.isMarked(packet) {
                count += 1
                SuspectPackets.free(packet)
            } else {
                ready.append(packet)
            }
        }
        waiting = []
    }

    private static func free(_ packet: UnsafeMutablePointer<AVPacket>) {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }
}
