import PacketCapturing
import Testing

@testable import FFmpegContainers

/// The times of live streams on the clock.
@Suite struct LiveTimesTests {
    private var times = LiveTimes()

    private func packet(_ milliseconds: Int, track: TrackID = 0, shownAfter delay: Int? = nil) -> MediaPacket {
        var packet = MediaPacket(
            data: [UInt8(1)].withUnsafeBytes { PacketBuffer(copying: $0) }, track: track,
            timestamp: .zero + .milliseconds(milliseconds + (delay ?? 0)), duration: .milliseconds(40))
        if delay != nil { packet.decodeTimestamp = .zero + .milliseconds(milliseconds) }
        return packet
    }

    private mutating func place(_ own: Int, at arrival: Int, track: TrackID = 0) -> (time: Int64, isRestart: Bool) {
        let arrival = MediaTime.zero + .milliseconds(arrival)
        let (placed, isRestart) = times.place(
            packet(own, track: track), arrival: arrival, now: arrival, isVideo: track == 0)
        return (placed!.timestamp.nanoseconds / 1_000_000, isRestart)
    }

    @Test mutating func intervalsAreThoseOfTheStream() {
        #expect(place(5000, at: 100) == (100, false))
        #expect(place(5040, at: 190) == (140, false), "late")
        #expect(place(5080, at: 191) == (180, false))
        #expect(place(5010, at: 192, track: 1) == (110, false), "sound keeps its place among the pictures")
        #expect(place(9000, at: 4100) == (4100, false), "a pause is as long as it was")
    }

    @Test mutating func decodeTimesMoveAlong() {
        let arrival = MediaTime.zero + .milliseconds(100)
        let (placed, _) = times.place(packet(700, shownAfter: 80), arrival: arrival, now: arrival, isVideo: true)
        #expect(placed?.decodeTimestamp == .zero + .milliseconds(100))
        #expect(placed?.timestamp == .zero + .milliseconds(180))
    }

    @Test mutating func anotherConnectionGoesOnAtThePresent() {
        #expect(place(5000, at: 100) == (100, false))
        times.beginConnection(mayRepeat: true)
        #expect(place(70, at: 3000) == (3000, false))
        #expect(place(110, at: 3010) == (3040, false))
        // It never goes back behind what a burst has placed in the future.
        #expect(place(2110, at: 3020) == (5040, false))
        times.beginConnection(mayRepeat: true)
        #expect(place(9, at: 4000) == (5080, false))
    }

    /// A server that begins each connection with the pictures since its last key frame.
    @Test mutating func repeatsAreSqueezed() {
        func time(_ milliseconds: Int) -> MediaTime { .zero + .milliseconds(milliseconds) }
        for own in stride(from: 5000, through: 6000, by: 40) { _ = place(own, at: own - 5000) }
        for own in stride(from: 5000, through: 6000, by: 20) { _ = place(own, at: own - 5000, track: 1) }
        times.beginConnection(mayRepeat: true)
        // At 1200 it sends pictures from 800 on, by its clock, and their sound.
        var placed: [Int64] = []
        for own in stride(from: 800, through: 1200, by: 40) {
            let (picture, isRestart) = times.place(packet(own), arrival: time(800), now: time(1200), isVideo: true)
            #expect(!isRestart)
            placed.append(picture!.timestamp.nanoseconds / 1_000_000)
            let (sound, _) = times.place(packet(own, track: 1), arrival: time(1200), now: time(1200), isVideo: false)
            #expect((sound != nil) == (own > 1000))
        }
        #expect(placed == [1001, 1002, 1003, 1004, 1005, 1006, 1040, 1080, 1120, 1160, 1200])
        // However often that happens.
        for connection in 1...20 {
            times.beginConnection(mayRepeat: true)
            let now = 1200 + 100 * connection
            for own in stride(from: 0, through: 400, by: 40) {
                let (picture, _) = times.place(packet(own), arrival: time(now - 400), now: time(now), isVideo: true)
                #expect(own < 400 || picture!.timestamp == time(now))
            }
        }
    }

    @Test mutating func jumpsBeginAgainAtThePresent() {
        #expect(place(50_000, at: 0) == (0, false))
        #expect(place(50_010, at: 5, track: 1) == (10, false))
        #expect(place(0, at: 2000) == (2000, true), "a sender that begins again")
        #expect(place(20, at: 2030, track: 1) == (2020, true), "its sound follows")
        #expect(place(40, at: 2040) == (2040, false))
        #expect(place(900_000, at: 2080) == (2080, true), "a step ahead")
        #expect(place(899_500, at: 2100) == (2080 - 500, false), "a small step back is left to the tracks")
    }

    @Test mutating func extremeTimesDoNotTrap() {
        for nanoseconds in [Int64.min, .max, 0, .min, .max] {
            let placed = times.place(
                MediaPacket(
                    data: [UInt8(1)].withUnsafeBytes { PacketBuffer(copying: $0) },
                    timestamp: MediaTime(nanoseconds: nanoseconds), duration: .nanoseconds(Int64.max)),
                arrival: .zero + .seconds(1), now: .zero + .seconds(1), isVideo: true)
            #expect(placed.packet?.data.count == 1)
        }
    }
}
