import CapturerTestKit
import TestTools
import VideoCapturing

@testable import MediaPublishing

/// Pictures of 10 per second with a key frame every two seconds, and sound of 50 packets per second, as an encoder hands them
/// over; the time is that of a virtual clock.
struct ClipStream {
    static let begin = MediaTime(nanoseconds: 100_000_000_000)
    static let pictures: TrackID = 0
    static let sound: TrackID = 1
    static let tracks = [
        TrackDescription(id: pictures, codec: .vp8, media: .video(.init(width: 16, height: 8))),
        TrackDescription(id: sound, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: 1))),
    ]

    /// The moment of a number of milliseconds.
    static func time(_ milliseconds: Int) -> MediaTime { begin + .milliseconds(milliseconds) }

    /// The milliseconds of a moment.
    static func milliseconds(_ time: MediaTime) -> Int { Int((time - begin).nanoseconds / 1_000_000) }

    /// A picture. One that is not a key frame is smaller.
    static func picture(_ milliseconds: Int, isKey: Bool? = nil, decoded: Int? = nil, bytes: Int? = nil) -> MediaPacket
    {
        let isKey = isKey ?? (milliseconds % 2000 == 0)
        var packet = MediaPacket(
            data: data(bytes ?? (isKey ? 1000 : 100)), track: pictures, timestamp: time(milliseconds),
            duration: .milliseconds(100), isKeyFrame: isKey)
        packet.decodeTimestamp = decoded.map { time($0) }
        return packet
    }

    static func soundPacket(_ milliseconds: Int) -> MediaPacket {
        MediaPacket(data: data(50), track: sound, timestamp: time(milliseconds), duration: .milliseconds(20))
    }

    private static func data(_ count: Int) -> PacketBuffer {
        [UInt8](repeating: 0, count: count).withUnsafeBytes { PacketBuffer(copying: $0) }
    }

    /// All packets of a range of milliseconds by the time of their arrival.
    ///
    /// - Parameter soundDelay: how much later sound comes than pictures of its time; negative for earlier.
    static func packets(_ range: Range<Int>, soundDelay: Int = 0) -> [MediaPacket] {
        stride(from: range.lowerBound, to: range.upperBound, by: 20).flatMap { now -> [MediaPacket] in
            let sound = now - soundDelay
            return (now % 100 == 0 ? [picture(now)] : []) + (sound >= 0 ? [soundPacket(sound)] : [])
        }
    }
}

/// Keeps the packets of each clip, by its path.
final class ClipLog: Sendable {
    struct Contents: Sendable {
        var packets: [String: [MediaPacket]] = [:]
        var events: [RecordingEvent] = []
        var warnings: [String] = []
    }

    private let contents = Locked(Contents())

    func update(_ change: (inout Contents) -> Void) {
        contents.withLock { change(&$0) }
        contents.wakeAll()
    }

    /// The contents once a condition holds; those of the limit otherwise.
    func wait(_ condition: (Contents) -> Bool) -> Contents {
        contents.wait(until: RunLog.limit) { condition($0) ? $0 : nil } ?? contents.withLock { $0 }
    }

    /// The contents once a number of clips have ended.
    func waitForEnds(_ count: Int) -> Contents { wait { $0.events.count { $0.phase == .end } >= count } }
}

/// A file that keeps its packets in the log.
final class LoggedFile: MediaOutput, PacketSink {
    let name: String
    private let log: ClipLog
    /// Called before each packet is kept.
    private let onWrite: @Sendable (MediaPacket) throws -> Void

    init(_ path: String, _ log: ClipLog, onWrite: @escaping @Sendable (MediaPacket) throws -> Void = { _ in }) {
        name = path
        self.log = log
        self.onWrite = onWrite
    }

    var kind: String { "probe" }
    var feed: OutputContext.Feed { .packets(.init(codecs: [.vp8])) }
    var audioFeed: OutputContext.AudioFeed? { .packets([.opus]) }
    var outputStatistics: OutputStatistics { OutputStatistics(bytes: 1) }
    func open(_ context: OutputContext) -> OutputContext.Destination { .sink(self) }
    func begin(_ tracks: [TrackDescription]) {}
    func write(_ packet: MediaPacket) throws {
        try onWrite(packet)
        log.update { $0.packets[name, default: []].append(packet) }
    }
    func finish() {}
}
