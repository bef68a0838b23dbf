public import MediaPublishing
public import VideoCapturing

/// Stills on request as an output of a `MediaPublisher`: one file each time that `MediaPublisher.takeStill()` is called, as
/// by the key of a preview.
///
/// ```swift
/// try publisher.add(RequestedStillOutput("capture-still-%03d.jpg"))
/// publisher.takeStill()
/// ```
/// A still is the frame nearest to the request. Each gets the first number whose name is free; no file is ever replaced. It
/// asks nothing of the capture, and serves the other outputs only: the run ends with the last of those. Safe to use from any
/// thread.
public final class RequestedStillOutput: MediaOutput {
    /// The path of the files, with a field for the number; see `StillFile`.
    public let pattern: String
    /// How each still is taken and encoded.
    public let settings: Still.Settings

    private struct State {
        var stills: StillCapture?
        var warn: @Sendable (String) -> Void = { _ in }
        /// The requests that have no file yet, each a task.
        var runningCount = 0
        var isClosed = false
        var writtenCount = 0
        var bytes: Int64 = 0
        /// The file that was written last, or why none was.
        var lastOutcome: String?
    }

    private let state = Locked(State())
    /// One file after the other, so that no number is taken twice.
    private let lastNumber = Locked(0)

    /// How long the end waits for a disk that does not answer.
    private static let diskTimeout = Duration.seconds(30)

    /// An output that has taken nothing yet.
    ///
    /// - Parameters:
    ///   - pattern: the path of the files, with a number in the name, as in `shot-%03d.jpg`.
    ///   - settings: how each still is taken and encoded.
    /// - Throws: ``StillCaptureError`` with `invalidName` and `invalidConfiguration`.
    public init(_ pattern: String, settings: Still.Settings = Still.Settings()) throws(StillCaptureError) {
        try settings.validate()
        // Several, so that there must be a number.
        _ = try StillFile(pattern, count: 2, overwrites: true)
        self.pattern = pattern
        self.settings = settings
    }

    /// The pattern.
    public var name: String { pattern }

    /// `stills`.
    public var kind: String { "stills" }

    /// Frames as they are.
    public var feed: OutputContext.Feed {
        .frames(.init(isConverted: false, queue: .init(capacity: 1, policy: .dropOldest)))
    }

    /// True: the run ends with the other outputs.
    public var isAuxiliary: Bool { true }

    public func open(_ context: OutputContext) -> OutputContext.Destination {
        let stills = StillCapture(configuration: .init(cameraModel: context.sourceName))
        state.withLock { state in
            state.stills = stills
            state.warn = context.warn
        }
        return .consumer(stills)
    }

    /// Waits until the stills that were asked for are written.
    public func close(at end: MediaTime?) {
        state.withLock { $0.isClosed = true }
        let deadline = MonotonicClock().now.advanced(by: RequestedStillOutput.diskTimeout)
        _ = state.wait(until: deadline) { $0.runningCount == 0 ? () : nil }
        state.withLock { $0.stills = nil }
    }

    /// Frames of before an interruption are not taken after it.
    public func sourceStateChanged(to new: CaptureState) {
        if case .interrupted = new { state.withLock { $0.stills }?.interrupt(new) }
    }

    /// Takes a still of this moment, without waiting for it.
    public func takeStill() {
        let stills = state.withLock { state -> StillCapture? in
            guard !state.isClosed, let stills = state.stills else { return nil }
            state.runningCount += 1
            return stills
        }
        guard let stills else { return }
        Task { [self] in
            let result: Result<Still, any Error>
            do { result = .success(try await stills.capture(settings)) } catch { result = .failure(error) }
            // Not on the tasks' threads, which must not wait for a disk.
            do throws(CaptureError) {
                try CaptureThread(name: "still file") { self.finish(result) }
            } catch {
                finish(.failure(error))
            }
        }
    }

    private func finish(_ result: Result<Still, any Error>) {
        let outcome = Result { try write(try result.get()) }
        let warn = state.withLock { state in
            state.runningCount -= 1
            switch outcome {
            case .success(let (path, count)):
                state.writtenCount += 1
                state.bytes += Int64(count)
                state.lastOutcome = path
                return nil as (@Sendable (String) -> Void)?
            case .failure:
                state.lastOutcome = "no still"
                return state.warn
            }
        }
        state.wakeAll()
        if case .failure(let error) = outcome { warn?("No still was taken: \(error)") }
    }

    /// Writes a still under the first free number.
    private func write(_ still: Still) throws -> (path: String, byteCount: Int) {
        try lastNumber.withLock { number in
            let file = try StillFile(pattern, count: 2, overwrites: true).withoutOverwriting
            var still = still
            while true {
                number += 1
                guard file.isFree(number) else { continue }
                still.number = number
                do throws(StillCaptureError) {
                    return (try file.write(still), still.data.count)
                } catch {
                    guard error.code == .fileExists, number < Int(Int32.max) else { throw error }
                }
            }
        }
    }

    public var outputStatistics: OutputStatistics {
        let state = state.withLock { $0 }
        var result = OutputStatistics(bytes: state.bytes)
        result.status = state.lastOutcome
        if state.writtenCount > 0 {
            let stills = state.writtenCount == 1 ? "1 still" : "\(state.writtenCount) stills"
            result.summary = "\(printable(pattern, limit: 200)): \(stills), \(scaled(Double(state.bytes), "B"))."
        }
        result.details = [("stills", .object([("written", .count(state.writtenCount))]))]
        return result
    }
}
