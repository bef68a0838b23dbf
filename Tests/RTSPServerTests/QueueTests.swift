import NIOCore
import Testing
import VideoCapturing

@testable import RTSPServer

/// The packets that wait for a slow client, and those that are left out.
@Suite struct QueueTests {
    private func item(_ milliseconds: Int64, key: Bool = false, size: Int = 100, track: Int = 0) -> FramedPackets {
        var item = FramedPackets(
            track: track, isRandomAccess: key, capacity: size, time: MediaTime(nanoseconds: milliseconds * 1_000_000))
        let bytes = [UInt8](repeating: UInt8(milliseconds % 251), count: size - FramedPackets.headerSize)
        bytes.withUnsafeBytes { item.append($0) }
        return item
    }

    /// Adds items, and returns whether each was taken without a new gap.
    private func push(_ items: [FramedPackets], to queue: inout PlaybackQueue) -> [Bool] {
        items.map { queue.push($0) }
    }

    private func times(_ queue: PlaybackQueue) -> [Int64] {
        var queue = queue
        var found: [Int64] = []
        while let item = queue.pop() { found.append(item.time.nanoseconds / 1_000_000) }
        return found
    }

    @Test func itBeginsWithAKeyFrame() {
        var queue = PlaybackQueue(.init(duration: .seconds(2), bytes: 10_000))
        #expect(push([item(0), item(40)], to: &queue) == [true, true])
        #expect(queue.isEmpty && queue.framesDropped == 0)
        #expect(push([item(80, key: true), item(120)], to: &queue) == [true, true])
        #expect(times(queue) == [80, 120] && queue.byteCount == 200)
    }

    @Test func wholeGroupsAreLeftOut() {
        var queue = PlaybackQueue(.init(duration: .milliseconds(1000), bytes: 100_000))
        // A key frame each 400 ms: at 1040 ms the newest group is that of 800.
        var gaps: [Int] = []
        for time in stride(from: 0, through: 1200, by: 40) {
            if !queue.push(item(Int64(time), key: time % 400 == 0)) { gaps.append(time) }
        }
        #expect(gaps == [1040] && queue.gaps == 1)
        #expect(times(queue) == Array(stride(from: 800, through: 1200, by: 40)))
        #expect(queue.framesDropped == 20 && queue.byteCount == 11 * 100)
    }

    @Test func withoutALaterKeyFrameAllIsLeftOutUpToTheNextOne() {
        var queue = PlaybackQueue(.init(duration: .seconds(10), bytes: 450))
        let pushed = push((0..<5).map { item($0, key: $0 == 0) }, to: &queue)
        #expect(pushed == [true, true, true, true, false])
        #expect(queue.isEmpty && queue.awaitsRandomAccess && queue.byteCount == 0 && queue.framesDropped == 5)
        #expect(push([item(5), item(6)], to: &queue) == [true, true] && queue.framesDropped == 7)
        #expect(push([item(7, key: true)], to: &queue) == [true] && times(queue) == [7])
    }

    @Test func aSingleFrameMayBeLarger() {
        var queue = PlaybackQueue(.init(duration: .seconds(1), bytes: 100))
        #expect(push([item(0, key: true, size: 5000)], to: &queue) == [true])
        #expect(times(queue) == [0])
        // A group that was kept may be, too.
        queue.begin(with: [item(0, key: true), item(40), item(80)], at: item(5000).time)
        #expect(queue.count == 3 && !queue.awaitsRandomAccess)
        // However old it is.
        queue = PlaybackQueue(.init(duration: .seconds(1), bytes: 1000))
        queue.begin(with: [item(0, key: true), item(40), item(80)], at: item(5000).time)
        #expect(push([item(5900)], to: &queue) == [true] && queue.count == 4)
    }

    @Test func channelsOfTheClient() {
        var item = item(1, track: 1)
        [9, 8].withUnsafeBytes { item.append($0) }
        #expect(item.count == 2)
        #expect(item.bytes(on: .init(packets: 2, reports: 3)) == item.bytes)
        let other = item.bytes(on: .init(packets: 7, reports: 8))
        #expect(other.getInteger(at: 1, as: UInt8.self) == 7 && other.getInteger(at: 101, as: UInt8.self) == 7)
        // The shared bytes are as they were.
        #expect(item.bytes.getInteger(at: 1, as: UInt8.self) == 2)
        var report = FramedPackets(track: 1, isReport: true, capacity: 8, time: .zero)
        [1].withUnsafeBytes { report.append($0) }
        #expect(report.bytes.getInteger(at: 1, as: UInt8.self) == 3)
        #expect(report.bytes(on: .init(packets: 7, reports: 8)).getInteger(at: 1, as: UInt8.self) == 8)
    }
}
