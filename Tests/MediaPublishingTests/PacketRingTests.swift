import Testing
import VideoCapturing

@testable import MediaPublishing

@Suite struct PacketRingTests {
    private func ring(seconds: Int, bytes: Int = 1 << 20, _ packets: [MediaPacket]) -> PacketRing {
        var ring = PacketRing(duration: .seconds(seconds), bytes: bytes)
        ring.begin(ClipStream.tracks)
        for packet in packets { ring.append(packet) }
        return ring
    }

    private func times(_ packets: [MediaPacket], _ track: TrackID) -> [Int] {
        packets.filter { $0.track == track }.map { ClipStream.milliseconds($0.timestamp) }
    }

    @Test func itBeginsWithTheLastKeyFrameThatIsNotLater() {
        let ring = ring(seconds: 6, ClipStream.packets(0..<20_000))
        let packets = ring.packets(from: ClipStream.time(15_500))
        #expect(packets.first?.isKeyFrame == true)
        #expect(times(packets, ClipStream.pictures) == Array(stride(from: 14_000, to: 20_000, by: 100)))
        #expect(times(packets, ClipStream.sound) == Array(stride(from: 14_000, to: 20_000, by: 20)))
        // Exactly at a key frame, and before all of them.
        #expect(times(ring.packets(from: ClipStream.time(16_000)), ClipStream.pictures).first == 16_000)
        #expect(times(ring.packets(from: ClipStream.time(0)), ClipStream.pictures).first == 12_000)
    }

    /// As much as covers the duration, and at most a group more, whatever the length.
    @Test(arguments: [0, 1, 2, 5, 10]) func itIsBounded(seconds: Int) {
        var ring = PacketRing(duration: .seconds(seconds), bytes: 1 << 20)
        ring.begin(ClipStream.tracks)
        var most = 0
        for packet in ClipStream.packets(0..<60_000) {
            ring.append(packet)
            if packet.timestamp > ClipStream.time(20_000) {
                #expect(ring.coveredDuration >= .seconds(seconds))
                #expect(ring.coveredDuration <= .seconds(seconds + 2))
            }
            most = max(most, ring.bytes)
        }
        // A group has 1000 + 19 · 100 + 100 · 50 bytes.
        #expect(most <= (seconds / 2 + 2) * 7900)
        #expect(ring.groupsDropped == 0)
    }

    @Test func theLimitOfBytesDropsTheOldestGroups() {
        let ring = ring(seconds: 60, bytes: 20_000, ClipStream.packets(0..<30_000))
        #expect(ring.bytes <= 20_000)
        #expect(ring.groupsDropped > 0)
        let packets = ring.packets(from: ClipStream.time(0))
        #expect(packets.first?.isKeyFrame == true)
        #expect(times(packets, ClipStream.pictures).last == 29_900)
        #expect(packets.reduce(0) { $0 + $1.data.count } == ring.bytes)
    }

    /// A group that alone is too large is dropped, and nothing of it is left that could not be decoded.
    @Test func aGroupThatIsTooLargeIsDropped() {
        var ring = ring(seconds: 10, bytes: 5000, [ClipStream.picture(0)])
        for time in stride(from: 100, to: 1900, by: 100) { ring.append(ClipStream.picture(time, bytes: 1000)) }
        #expect(ring.packets(from: ClipStream.time(0)).isEmpty)
        #expect(ring.bytes == 0)
        ring.append(ClipStream.picture(2000))
        #expect(times(ring.packets(from: ClipStream.time(0)), ClipStream.pictures) == [2000])
    }

    /// Sound that came before its key frame belongs to it, and stays when the group before is dropped.
    @Test func soundThatComesFirstStaysWithItsKeyFrame() {
        let all = ClipStream.packets(0..<9000, soundDelay: -300)
        let ring = ring(seconds: 2, all)
        let packets = ring.packets(from: ClipStream.time(6500))
        #expect(times(packets, ClipStream.pictures).first == 6000)
        #expect(times(packets, ClipStream.sound) == Array(stride(from: 6000, to: 9300, by: 20)))
        #expect(packets.reduce(0) { $0 + $1.data.count } == ring.bytes)
    }

    /// Sound from before the first picture of all: a joiner hands on what ends later than that picture.
    @Test func theFirstKeyFrameHasTheSoundThatWaited() {
        var ring = PacketRing(duration: .seconds(5), bytes: 1 << 20)
        ring.begin(ClipStream.tracks)
        for time in stride(from: 0, through: 500, by: 20) { ring.append(ClipStream.soundPacket(time)) }
        ring.append(ClipStream.picture(410, isKey: true))
        #expect(times(ring.packets(from: ClipStream.time(0)), ClipStream.sound) == [400, 420, 440, 460, 480, 500])
    }

    @Test func soundThatComesLateIsLeftOutWhereItIsOfBefore() {
        let ring = ring(seconds: 2, ClipStream.packets(0..<9000, soundDelay: 400))
        let packets = ring.packets(from: ClipStream.time(8000))
        #expect(times(packets, ClipStream.sound) == Array(stride(from: 8000, to: 8600, by: 20)))
    }

    /// Pictures that are decoded after a key frame, but shown before it, need the group before.
    @Test func picturesAreKeptInTheOrderOfDecoding() {
        let pictures = [
            ClipStream.picture(0, isKey: true, decoded: -200), ClipStream.picture(300, isKey: false, decoded: -100),
            ClipStream.picture(100, isKey: false, decoded: 0), ClipStream.picture(200, isKey: false, decoded: 100),
            ClipStream.picture(600, isKey: true, decoded: 200), ClipStream.picture(400, isKey: false, decoded: 300),
            ClipStream.picture(500, isKey: false, decoded: 400), ClipStream.picture(700, isKey: false, decoded: 500),
        ]
        let ring = ring(seconds: 5, pictures)
        #expect(
            times(ring.packets(from: ClipStream.time(0)), ClipStream.pictures) == [
                0, 300, 100, 200, 600, 400, 500, 700,
            ])
        #expect(times(ring.packets(from: ClipStream.time(650)), ClipStream.pictures) == [600, 700])
    }

    /// A camera that was unplugged: what it gave minutes ago is not of before the trigger.
    @Test func whatIsOfBeforeAnOutageIsLeftOut() {
        var ring = ring(seconds: 10, ClipStream.packets(0..<4000))
        #expect(ring.packets(from: ClipStream.time(60_000)).isEmpty)
        for packet in ClipStream.packets(70_000..<73_000) { ring.append(packet) }
        #expect(times(ring.packets(from: ClipStream.time(63_000)), ClipStream.pictures).first == 70_000)
    }

    /// The time line begins again, as of a source that was replaced.
    @Test func timesThatGoBackBeginAgain() {
        var ring = ring(seconds: 10, ClipStream.packets(50_000..<54_000))
        for packet in ClipStream.packets(0..<1000) { ring.append(packet) }
        #expect(times(ring.packets(from: ClipStream.time(500)), ClipStream.pictures).first == 0)
        #expect(ring.coveredDuration == .milliseconds(900))
    }

    /// Of sound alone each packet is a key frame.
    @Test func soundAloneIsKept() {
        var ring = PacketRing(duration: .seconds(2), bytes: 1 << 20)
        ring.begin([ClipStream.tracks[1]])
        for time in stride(from: 0, to: 60_000, by: 20) { ring.append(ClipStream.soundPacket(time)) }
        let packets = ring.packets(from: ClipStream.time(59_000))
        #expect(times(packets, ClipStream.sound) == Array(stride(from: 59_000, to: 60_000, by: 20)))
        #expect(ring.bytes <= 102 * 50)
    }
}
