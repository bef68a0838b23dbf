import CapturerTestKit
import Testing
import VideoCapturing

@testable import StillCapture

/// Stills on a virtual clock, whose frames a test hands in itself.
final class Rig: Sendable {
    let clock = VirtualClock(.manual, start: MediaTime(nanoseconds: 10_000_000_000))
    let stills: StillCapture
    private let lastNumber = Locked<UInt64>(0)

    init(_ configuration: StillCapture.Configuration = StillCapture.Configuration()) {
        stills = StillCapture(configuration: configuration, clock: clock)
    }

    /// Lets time pass, and hands in a frame of that moment, whose luma counts the frames from 1.
    @discardableResult
    func feed(after duration: Duration = .milliseconds(40), width: Int = 16, height: Int = 8) throws -> VideoFrame {
        clock.advance(by: duration)
        let number = nextNumber()
        return try feed(flatPicture(UInt8(truncatingIfNeeded: number), width: width, height: height), number: number)
    }

    @discardableResult
    func feed(_ buffer: PixelBuffer, number: UInt64? = nil, isRepeat: Bool = false) throws -> VideoFrame {
        let frame = VideoFrame(
            buffer: buffer, timestamp: clock.now, sequenceNumber: number ?? nextNumber(), estimatedFrameRate: 25,
            isRepeat: isRepeat)
        #expect(stills.consumeInline(frame))
        return frame
    }

    /// Hands in a JPEG that is not one.
    func feedDamage(after duration: Duration = .milliseconds(40)) throws {
        clock.advance(by: duration)
        let buffer = try [UInt8](repeating: 7, count: 100).withUnsafeBytes {
            try PixelBuffer.compressed($0, as: .mjpeg, width: 16, height: 8)
        }
        try feed(buffer)
    }

    private func nextNumber() -> UInt64 {
        lastNumber.withLock { number in
            number += 1
            return number
        }
    }

    /// Waits until the scheduler sleeps until a moment to come: all that is due is done.
    func settle() {
        #expect(clock.awaitSleeper() != nil)
    }

    /// Begins a still that has to wait for its frame, and returns when it does.
    func begin(_ settings: Still.Settings = Still.Settings()) async -> Task<Still, any Error> {
        let before = waitingCount
        let task = Task { [stills] in try await stills.capture(settings) }
        #expect(await eventually { self.waitingCount > before })
        return task
    }

    /// Requests that wait for a frame.
    var waitingCount: Int { stills.engine.state.withLock { $0.waiting.count } }

    /// Stills that were asked for and not received.
    var outstandingCount: Int { stills.engine.state.withLock { $0.outstandingCount } }
}

/// A picture whose luma is `value` everywhere.
func flatPicture(_ value: UInt8, width: Int = 16, height: Int = 8) throws -> PixelBuffer {
    try PixelBuffer.make(.nv12, width: width, height: height) { pixels in
        pixels.fill(plane: 0, with: value)
        pixels.fill(plane: 1, with: 128)
    }
}

/// Waits until `condition` holds, without blocking a thread; false after some time.
func eventually(within limit: Duration = .seconds(60), _ condition: () -> Bool) async -> Bool {
    let limit = MonotonicClock().now.advanced(by: limit)
    while !condition() {
        if MonotonicClock().now > limit { return false }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}

extension Still {
    var bytes: [UInt8] { data.withUnsafeBytes { Array($0) } }
}

/// The events of a burst, read one by one.
struct BurstReader {
    private var iterator: AsyncThrowingStream<StillCapture.BurstEvent, any Error>.AsyncIterator

    init(_ stream: AsyncThrowingStream<StillCapture.BurstEvent, any Error>) {
        iterator = stream.makeAsyncIterator()
    }

    mutating func next() async throws -> StillCapture.BurstEvent? { try await iterator.next() }

    /// The next still, when nothing else comes before it.
    mutating func still() async throws -> Still {
        guard case .still(let still)? = try await next() else { throw Unexpected() }
        return still
    }

    /// The next `count` stills.
    mutating func stills(_ count: Int) async throws -> [Still] {
        var stills: [Still] = []
        for _ in 0..<count { stills.append(try await still()) }
        return stills
    }

    /// The summary, when it comes next and is the last event.
    mutating func summary() async throws -> StillCapture.BurstSummary {
        guard case .finished(let summary)? = try await next() else { throw Unexpected() }
        if try await next() != nil { throw Unexpected() }
        return summary
    }

    struct Unexpected: Error {}
}

func summary(
    requested: Int, captured: Int, failed: Int = 0, skipped: Int = 0
) -> StillCapture.BurstSummary {
    var summary = StillCapture.BurstSummary()
    (summary.requested, summary.captured, summary.failed, summary.skipped) = (requested, captured, failed, skipped)
    return summary
}

/// Whether an error is ours, of this code.
func isError(_ code: StillCaptureError.Code, _ error: any Error) -> Bool {
    (error as? StillCaptureError)?.code == code
}
