import CapturerTestKit
import Testing
import VideoCapturing

@Suite struct PacketQueueTests {
    /// Packet `number` of a video of 10 frames per second with a key frame each ten.
    private func packet(
        _ number: Int, track: TrackID = 0, isKeyFrame: Bool? = nil, bytes: Int = 100
    ) -> MediaPacket {
        let content = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes)
        return MediaPacket(
            data: content.withUnsafeBytes { PacketBuffer(copying: $0) }, track: track,
            timestamp: MediaTime(nanoseconds: Int64(number) * 100_000_000), duration: .milliseconds(100),
            isKeyFrame: isKeyFrame ?? (number % 10 == 0), sequenceNumber: UInt64(number))
    }

    private func numbers(_ queue: PacketQueue) -> [UInt64] {
        var numbers: [UInt64] = []
        while let packet = queue.popIfPresent() { numbers.append(packet.sequenceNumber) }
        return numbers
    }

    private let large = PacketQueue.Limits(packets: 1000, bytes: 1 << 30, duration: .seconds(3600))

    @Test func packetsComeInOrder() {
        let queue = PacketQueue(large)
        for number in 0..<25 { #expect(queue.push(packet(number)) == .accepted) }
        #expect(queue.counts.waiting == 25 && queue.counts.waitingBytes == 2500)
        #expect(numbers(queue) == Array(0..<25))
        #expect(queue.counts == PacketQueue.Counts(received: 25))
    }

    /// A consumer that comes in the middle has nothing to lose, and asks once.
    @Test func beginsWithAKeyFrame() {
        let queue = PacketQueue(large)
        #expect(queue.push(packet(7)) == .needsKeyFrame)
        #expect(queue.push(packet(8)) == .awaitsKeyFrame)
        #expect(queue.push(packet(10)) == .accepted)
        #expect(numbers(queue) == [10])
        #expect(queue.counts == PacketQueue.Counts(received: 1))
    }

    @Test(arguments: [
        PacketQueue.Limits(packets: 15, bytes: 1 << 30, duration: .seconds(3600)),
        PacketQueue.Limits(packets: 1000, bytes: 1500, duration: .seconds(3600)),
        PacketQueue.Limits(packets: 1000, bytes: 1 << 30, duration: .milliseconds(1400)),
    ])
    func goesOnWithTheNewestKeyFrameThatWaits(_ limits: PacketQueue.Limits) {
        let clock = VirtualClock()
        let queue = PacketQueue(limits, clock: clock)
        for number in 0..<15 {
            #expect(queue.push(packet(number)) == .accepted)
            clock.advance(by: .milliseconds(100))
        }
        #expect(queue.push(packet(15)) == .accepted)
        #expect(queue.counts.dropped == 10 && queue.counts.gaps == 1)
        #expect(numbers(queue) == Array(10...15))
    }

    /// A group of pictures that does not fit is lost up to the next key frame, which is asked for once.
    @Test func asksForAKeyFrameWhenNoneWaits() {
        let queue = PacketQueue(PacketQueue.Limits(packets: 5, bytes: 1 << 30, duration: .seconds(3600)))
        let results = (0..<12).map { queue.push(packet($0)) }
        let expected =
            [PacketQueue.PushResult](repeating: .accepted, count: 5) + [.needsKeyFrame]
            + [PacketQueue.PushResult](repeating: .awaitsKeyFrame, count: 4) + [.accepted, .accepted]
        #expect(results == expected)
        #expect(numbers(queue) == [10, 11])
        #expect(queue.counts == PacketQueue.Counts(received: 12, dropped: 10, gaps: 1))
    }

    @Test func aKeyFrameReplacesWhatWaits() {
        let queue = PacketQueue(PacketQueue.Limits(packets: 10, bytes: 1 << 30, duration: .seconds(3600)))
        for number in 0...10 { #expect(queue.push(packet(number)) == .accepted) }
        #expect(numbers(queue) == [10])
        #expect(queue.counts.dropped == 10 && queue.counts.gaps == 1)
    }

    /// One packet is taken however large it is.
    @Test func aSinglePacketMayExceedTheLimit() {
        let queue = PacketQueue(PacketQueue.Limits(packets: 10, bytes: 50, duration: .seconds(1)))
        #expect(queue.push(packet(0)) == .accepted)
        #expect(queue.push(packet(10)) == .accepted)
        #expect(numbers(queue) == [10])
    }

    /// Sound only: nothing needs another packet, so the oldest go.
    @Test func independentPacketsAreDroppedOneByOne() {
        let queue = PacketQueue(PacketQueue.Limits(packets: 4, bytes: 1 << 30, duration: .seconds(3600)))
        for number in 0..<10 { #expect(queue.push(packet(number, isKeyFrame: true)) == .accepted) }
        #expect(numbers(queue) == [6, 7, 8, 9])
        #expect(queue.counts == PacketQueue.Counts(received: 10, dropped: 6))
    }

    /// Sound goes on while pictures wait for a key frame; its overflow makes the pictures' track ask too.
    @Test func tracksLoseTheirOwnPacketsOnly() {
        let queue = PacketQueue(PacketQueue.Limits(packets: 6, bytes: 1 << 30, duration: .seconds(3600)))
        for number in 0..<3 {
            #expect(queue.push(packet(number)) == .accepted)
            #expect(queue.push(packet(number, track: 1, isKeyFrame: true)) == .accepted)
        }
        #expect(queue.push(packet(3, track: 1, isKeyFrame: true)) == .accepted)
        #expect(queue.push(packet(3)) == .needsKeyFrame)
        #expect(queue.push(packet(4, track: 1, isKeyFrame: true)) == .accepted)
        #expect(queue.push(packet(4)) == .awaitsKeyFrame)
        #expect(queue.push(packet(10)) == .accepted)
        #expect(numbers(queue) == [3, 4, 10])
    }

    /// Two videos: behind the key frame of one, the other is dropped up to its own.
    @Test func nothingIsTakenOutThatCannotBeDecoded() {
        let queue = PacketQueue(PacketQueue.Limits(packets: 24, bytes: 1 << 30, duration: .seconds(3600)))
        for number in 0..<14 {
            queue.push(packet(number))
            queue.push(packet(number, track: 1, isKeyFrame: number % 10 == 5))
        }
        var begun: Set<TrackID> = []
        var taken = 0
        while let next = queue.popIfPresent() {
            if next.isKeyFrame { begun.insert(next.track) }
            #expect(begun.contains(next.track))
            taken += 1
        }
        #expect(taken > 0 && queue.counts.received == UInt64(taken) + queue.counts.dropped)
    }

    @Test func aNewConnectionBeginsWithAKeyFrame() {
        let queue = PacketQueue(large)
        for number in 0..<5 { queue.push(packet(number)) }
        queue.restart()
        #expect(queue.push(packet(5)) == .needsKeyFrame)
        #expect(queue.push(packet(10)) == .accepted)
        #expect(numbers(queue) == [10])
        #expect(queue.counts.dropped == 5)
    }

    @Test func theEndIsReached() throws {
        let queue = PacketQueue(large)
        let taken = Locked<[UInt64]>([])
        let consumer = try CaptureThread(name: "consumer") {
            while let packet = queue.pop() { taken.withLock { $0.append(packet.sequenceNumber) } }
        }
        for number in 0..<1000 { queue.push(packet(number)) }
        queue.close()
        consumer.join()
        #expect(taken.withLock { $0 } == Array(0..<1000))
        #expect(queue.push(packet(1000)) == .closed)
        #expect(queue.pop()?.sequenceNumber == nil)
    }

    @Test func aWaitEnds() {
        let queue = PacketQueue(large)
        #expect(queue.pop(until: MonotonicClock().now)?.sequenceNumber == nil)
        queue.push(packet(0))
        queue.close(discardingWaitingPackets: true)
        #expect(queue.isEmpty && queue.pop()?.sequenceNumber == nil)
    }
}
