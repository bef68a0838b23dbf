public import VideoCapturing

/// The packets of the last seconds, in memory: whole groups of pictures with their sound, so that a file can begin before the
/// moment at which it was asked for.
///
/// ```swift
/// var ring = PacketRing(duration: .seconds(10), bytes: 64 << 20)
/// ring.begin(tracks)
/// ring.append(packet)
/// let packets = ring.packets(from: now - .seconds(10))
/// ```
/// A group is a key frame of the leading track (the pictures, where there are any) with all that follows up to the next one. The
/// ring keeps as many groups as cover its duration, so up to one group more. Beyond its limit of bytes it drops the oldest
/// groups; a group that is larger than the limit is dropped whole, and the ring waits for the next key frame. A value that
/// shares the packets' bytes: to copy it is cheap.
public struct PacketRing: Sendable {
    private struct Group: Sendable {
        /// The time of the key frame.
        var start: MediaTime
        /// The time of the latest picture.
        var last: MediaTime
        /// In the order of arrival. Sound that came before the key frame, and is heard with it, comes first.
        var packets: [MediaPacket]
        var bytes: Int
    }

    /// How much time the groups cover.
    public let duration: Duration
    /// The maximum number of encoded bytes.
    public let maximumBytes: Int
    /// The bytes that are kept.
    public private(set) var bytes = 0
    /// How many groups the limit of bytes has dropped before their time.
    public private(set) var groupsDropped: UInt64 = 0
    /// The track whose key frames begin groups; nil before ``begin(_:)``.
    public private(set) var leadingTrack: TrackID?

    /// The groups, the oldest at `first`.
    private var groups: [Group] = []
    private var first = 0
    /// Sound that came before the first key frame.
    private var early: [MediaPacket] = []

    /// A picture is shown for less than this time. After a longer one the source was away.
    private static let longestPicture = Duration.seconds(3)
    /// Five seconds of sound, in packets of 20 ms, may come before the first key frame.
    private static let maximumEarly = 250

    /// An empty ring.
    ///
    /// - Parameters:
    ///   - duration: how much time to keep.
    ///   - bytes: the maximum number of encoded bytes.
    public init(duration: Duration, bytes: Int) {
        self.duration = max(.zero, duration)
        maximumBytes = max(0, bytes)
    }

    /// Takes the tracks of the packets, and drops what it has.
    public mutating func begin(_ tracks: [TrackDescription]) {
        let pictures = tracks.first { if case .video = $0.media { true } else { false } }
        leadingTrack = (pictures ?? tracks.first)?.id
        removeAll()
    }

    /// Drops all packets; the next group begins with the next key frame.
    public mutating func removeAll() {
        groups.removeAll()
        early.removeAll()
        (first, bytes) = (0, 0)
    }

    /// The time from the first key frame to the newest picture.
    public var coveredDuration: Duration {
        guard first < groups.count, let newest = groups.last?.last else { return .zero }
        return newest - groups[first].start
    }

    /// Takes a packet. Those of a track come in the order in which they are decoded.
    public mutating func append(_ packet: MediaPacket) {
        let isLeading = packet.track == leadingTrack
        if isLeading, packet.isKeyFrame { beginGroup(with: packet) }
        guard first < groups.count else {
            guard !isLeading else { return }
            if early.count == PacketRing.maximumEarly { early.removeFirst() }
            return early.append(packet)
        }
        let index = groups.count - 1
        groups[index].packets.append(packet)
        groups[index].bytes += packet.data.count
        bytes += packet.data.count
        if isLeading { groups[index].last = max(groups[index].last, packet.timestamp) }
        trim()
    }

    private mutating func beginGroup(with key: MediaPacket) {
        // The time line begins again.
        if let newest = groups.last?.last, first < groups.count, key.timestamp < newest - .seconds(1) { removeAll() }
        var sound = early
        early = []
        if first < groups.count {
            let index = groups.count - 1
            let packets = groups[index].packets
            sound = packets.filter { isSound($0, heardAfter: key.timestamp) }
            if !sound.isEmpty {
                groups[index].packets = packets.filter { !isSound($0, heardAfter: key.timestamp) }
                groups[index].bytes -= sound.reduce(0) { $0 + $1.data.count }
            }
        } else {
            sound = sound.filter { isSound($0, heardAfter: key.timestamp) }
            bytes += sound.reduce(0) { $0 + $1.data.count }
        }
        groups.append(
            Group(
                start: key.timestamp, last: key.timestamp, packets: sound,
                bytes: sound.reduce(0) { $0 + $1.data.count }))
    }

    private func isSound(_ packet: MediaPacket, heardAfter time: MediaTime) -> Bool {
        guard packet.track != leadingTrack else { return false }
        return packet.duration > .zero ? packet.timestamp + packet.duration > time : packet.timestamp >= time
    }

    private mutating func trim() {
        guard let newest = groups.last?.last else { return }
        while first + 1 < groups.count, groups[first + 1].start <= newest - duration { removeFirst() }
        while bytes > maximumBytes, first < groups.count {
            groupsDropped += 1
            removeFirst()
        }
        if first == groups.count {
            removeAll()
        } else if first >= 64, first * 2 >= groups.count {
            groups.removeSubrange(..<first)
            first = 0
        }
    }

    private mutating func removeFirst() {
        bytes -= groups[first].bytes
        groups[first].packets = []
        first += 1
    }

    /// The packets from a moment on, as they came: from the last key frame that is not later, or else from the first.
    ///
    /// Sound that is heard before the key frame is left out, as are pictures that are shown before it.
    ///
    /// - Parameter time: the moment.
    /// - Returns: nothing where there is no key frame, or the source has given no picture for seconds before that moment.
    public func packets(from time: MediaTime) -> [MediaPacket] {
        let kept = groups[first...]
        guard var index = kept.lastIndex(where: { $0.start <= time }) ?? kept.indices.first else { return [] }
        if groups[index].last + PacketRing.longestPicture < time { index += 1 }
        guard index < groups.count else { return [] }
        let start = groups[index].start
        var packets = groups[index].packets.filter {
            $0.track == leadingTrack ? $0.timestamp >= start : isSound($0, heardAfter: start)
        }
        for group in groups[(index + 1)...] {
            // Sound that came late may be of before.
            packets += group.packets.filter { $0.track == leadingTrack || isSound($0, heardAfter: start) }
        }
        return packets
    }
}
