import H264Bitstream
import StreamOutput
import TestTools
import Testing
import VideoCapturing

/// The access units of a byte stream, as packets of an encoder.
struct Clip {
    struct Unit {
        var bytes: [UInt8]
        var isKeyFrame: Bool
    }

    let units: [Unit]
    let width: Int
    let height: Int

    init(_ stream: [UInt8], width: Int = 160, height: Int = 120) {
        units = accessUnits(stream)
        self.width = width
        self.height = height
    }

    /// 150 pictures in groups of 15, without delimiters; made once.
    static let standard = Result { Clip(try h264Clip(frames: 150)) }

    /// The packet of a number, 33 ms apart; the clip repeats.
    func packet(_ number: Int) -> MediaPacket {
        let unit = units[number % units.count]
        return MediaPacket(
            data: unit.bytes.withUnsafeBytes { PacketBuffer(copying: $0) },
            timestamp: MediaTime(nanoseconds: 5_000_000_000 + Int64(number) * 33_333_333), duration: .milliseconds(33),
            isKeyFrame: unit.isKeyFrame, width: width, height: height, sequenceNumber: UInt64(number))
    }

    var track: TrackDescription {
        TrackDescription(id: 0, codec: .h264, media: .video(.init(width: width, height: height)))
    }
}

/// The access units of a whole byte stream.
func accessUnits(_ stream: [UInt8]) -> [Clip.Unit] {
    var parser = AccessUnitParser()
    var units: [Clip.Unit] = []
    func add(_ unit: AccessUnitParser.Unit) {
        if unit.hasSlices { units.append(Clip.Unit(bytes: Array(unit.bytes), isKeyFrame: unit.isKeyFrame)) }
    }
    stream.withUnsafeBytes { parser.append($0, output: add) }
    parser.flush(output: add)
    return units
}

/// The NAL units of a byte stream, without delimiters.
func nalUnits(_ bytes: [UInt8]) -> [[UInt8]] {
    bytes.withUnsafeBytes { bytes in
        AnnexB.units(in: bytes).filter { $0.type != .delimiter }.map { Array($0.bytes) }
    }
}

/// Feeds packets of a clip to an output; goes on with the next key frame when one was requested, as an encoder makes one.
final class Feed: Sendable {
    private struct State {
        var next = 0
        var requests = 0
        var limits: [Int?] = []
        var isKeyFrameRequested = false
    }

    let clip: Clip
    let output: StreamOutput
    private let state = Locked(State())
    /// The numbers of the packets, which count on where the clip jumps.
    private let written = Locked(0)

    /// - Parameter bitrate: of the encoder's configuration; nil for one that has none.
    init(_ clip: Clip, to output: StreamOutput, bitrate: Int? = nil) throws {
        self.clip = clip
        self.output = output
        output.connectFeedback(
            PacketFeedback(
                onKeyFrame: { [state] in
                    state.withLock { state in
                        state.requests += 1
                        state.isKeyFrameRequested = true
                    }
                    state.wakeAll()
                },
                onBitrate: { [state] limit in
                    state.withLock { $0.limits.append(limit) }
                    state.wakeAll()
                }, maximumBitrate: { bitrate }))
        try output.begin([clip.track])
    }

    var requests: Int { state.withLock { $0.requests } }
    /// The bitrates that were asked for; nil for the encoder's own.
    var limits: [Int?] { state.withLock { $0.limits } }

    /// Waits until a key frame was requested `count` times.
    func awaitRequests(_ count: Int) -> Bool {
        let end = MonotonicClock().now.advanced(by: .seconds(60))
        return state.wait(until: end) { $0.requests >= count ? () : nil } != nil
    }

    /// Writes packets, the first one a key frame where one was requested; returns them.
    @discardableResult
    func write(_ count: Int) throws -> [MediaPacket] {
        try (0..<count).map { _ in
            let index = state.withLock { state in
                if state.isKeyFrameRequested {
                    state.isKeyFrameRequested = false
                    while !clip.units[state.next % clip.units.count].isKeyFrame { state.next += 1 }
                }
                defer { state.next += 1 }
                return state.next
            }
            let number = written.withLock { number in
                defer { number += 1 }
                return number
            }
            var packet = clip.packet(index)
            packet.timestamp = MediaTime(nanoseconds: 5_000_000_000 + Int64(number) * 33_333_333)
            packet.sequenceNumber = UInt64(number)
            try output.write(packet)
            return packet
        }
    }
}

extension MediaPacket {
    var bytes: [UInt8] { data.withUnsafeBytes { Array($0) } }
}

/// Expects the access units of received bytes to be the packets, NAL unit by NAL unit.
func expectSame(
    _ received: [UInt8]?, _ packets: [MediaPacket], sourceLocation: SourceLocation = #_sourceLocation
) {
    let units = accessUnits(received ?? []).map { nalUnits($0.bytes) }
    let expected = packets.map { nalUnits($0.bytes) }
    // Not in the expectation itself, which would print all the bytes.
    guard units != expected else { return }
    let differs = zip(units, expected).enumerated().first { $1.0 != $1.1 }?.offset
    Issue.record(
        "\(units.count) of \(expected.count) units have come; the first that differs is \(differs.map(String.init) ?? "none").",
        sourceLocation: sourceLocation)
}
