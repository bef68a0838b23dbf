import Testing
import VideoCapturing

@testable import StreamCapturer

/// Times and losses of pictures that a decoder reorders.
@Suite struct PendingPicturesTests {
    private func time(_ number: Int) -> MediaTime { MediaTime(nanoseconds: Int64(number)) }

    @Test func timesOfArrivalAreInOrder() {
        var pending = PendingPictures()
        // I0 P3 B1 B2 as they are decoded.
        let numbers = (0..<4).map { pending.add(time($0), isStated: false, isKeyFrame: $0 == 0) }
        #expect([0, 2, 3, 1].map { pending.take(numbers[$0]) } == (0..<4).map(time))
        #expect(pending.takeLost(isAtEnd: true) == 0)
    }

    @Test func timesOfTheStreamStay() {
        var pending = PendingPictures()
        let numbers = [0, 3, 1, 2].map { pending.add(time($0), isStated: true, isKeyFrame: $0 == 0) }
        #expect([0, 2, 3, 1].map { pending.take(numbers[$0]) } == (0..<4).map(time))
    }

    /// A decoder may hold 16 back; what is missing beyond that is lost, and so is what it holds at the end.
    @Test func whatIsPassedOverIsCounted() {
        var pending = PendingPictures()
        for number in 0..<16 { _ = pending.add(time(number), isStated: false, isKeyFrame: false) }
        #expect(pending.takeLost() == 0)
        let last = (16..<20).map { pending.add(time($0), isStated: false, isKeyFrame: false) }
        #expect(pending.takeLost() == 4)
        #expect(pending.take(last[3]) == time(4))
        pending.remove(last[2])
        #expect(pending.takeLost(isAtEnd: true) == 14)
        #expect(pending.take(last[1]) == nil)
        #expect(pending.takeLost(isAtEnd: true) == 0)
    }

    @Test func aKeyFrameEndsTheWait() {
        var pending = PendingPictures()
        for number in 0..<5 { _ = pending.add(time(number), isStated: false, isKeyFrame: false) }
        let key = pending.add(time(5), isStated: false, isKeyFrame: true)
        let next = pending.add(time(6), isStated: false, isKeyFrame: false)
        #expect(pending.take(key) == time(5))
        #expect(pending.takeLost() == 5)
        #expect(pending.take(next) == time(6))
    }
}
