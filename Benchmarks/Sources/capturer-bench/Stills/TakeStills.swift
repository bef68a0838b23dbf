import Dispatch
import FileCapturer
import StillCapture
import VideoCapturing

/// Stills of a clip that plays at its own rate, each asked for once the one before is in its file; prints the median and
/// the 99th percentile of the milliseconds from request to file, and the stills per second.
func takeStills(_ arguments: inout Arguments) throws {
    let input = try arguments.required("input")
    let folder = try arguments.required("folder")
    let count = try arguments.count("count", default: 100)
    let quality = try arguments.count("quality", default: 90)
    let stills = StillCapture()
    let publisher = VideoPublisher(FileCapturer(path: input, playback: FileCapturer.Playback(plays: nil)))
    try stills.attach(to: publisher)
    let file = try StillFile("\(folder)/still-%03d.jpg", count: count, overwrites: true)
    try publisher.start()
    defer { publisher.close() }
    let clock = MonotonicClock()
    let outcome = Outcome()
    let start = clock.now
    Task {
        do {
            // The first is not counted: it starts the threads.
            for number in 0...count {
                let asked = clock.now
                var still = try await stills.capture(Still.Settings(quality: quality))
                still.number = max(1, number)
                try file.write(still)
                if number > 0 { outcome.times.append((clock.now - asked).seconds * 1e3) }
            }
        } catch {
            outcome.error = error
        }
        outcome.isThere.signal()
    }
    outcome.isThere.wait()
    if let error = outcome.error { throw error }
    let seconds = (clock.now - start).seconds
    print(
        outcome.times.quantile(0.5).fixed(2), outcome.times.quantile(0.99).fixed(2),
        (Double(count + 1) / seconds).fixed(1))
}

/// Filled by one task, and read after it.
private final class Outcome: @unchecked Sendable {
    let isThere = DispatchSemaphore(value: 0)
    var times: [Double] = []
    var error: (any Error)?
}
