import AudioCapturing
import AudioRendering
import CapturerTestKit
import MP3Codec
import TestTools

@testable import RadioPlayer

/// MP3 that ffmpeg makes with LAME, of constant bitrate and without tags.
func mp3(
    seconds: Double = 10, rate: Int = 44_100, channels: Int = 2, bitrate: Int = 128, hasInformation: Bool = false
) throws -> [UInt8] {
    let folder = TemporaryFolder()
    try run(
        "ffmpeg",
        [
            "-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=\(rate):duration=\(seconds)", "-ac",
            "\(channels)", "-c:a", "libmp3lame", "-b:a", "\(bitrate)k", "-id3v2_version", "0", "-write_xing",
            hasInformation ? "1" : "0", folder.file("a.mp3"),
        ])
    return try folder.read("a.mp3")
}

/// A renderer that plays into nothing by a clock, records its calls, and fails on request.
final class ListeningRenderer: AudioRenderer {
    enum Call: Sendable, Hashable {
        case open, write, queued, pause, resume, flush
    }

    struct Heard: Sendable {
        var format: AudioFormat?
        var frames: Int64 = 0
        var loudest: Float = 0
        var opens = 0
        var closes = 0
        var isOpen = false
        /// The times without a frame that were longer than the buffer of the renderer.
        var silences: [(from: MediaTime, to: MediaTime)] = []
        var lastWrite: MediaTime?
        var failing: Set<Call> = []
        /// How many more openings fail; nil for all while `failing` says so.
        var failingOpens: Int?
        /// The code of the failures.
        var code = AudioRendererErrorCode.system
        /// Called with each call before it is obeyed, on the player's thread.
        var before: @Sendable (Call) -> Void = { _ in }
    }

    let name = "listener"
    let heard = Locked(Heard())
    private let sink: NullRenderer
    private let clock: any CaptureClock
    private let forced: AudioFormat?

    init(clock: any CaptureClock, format: AudioFormat? = nil) {
        self.clock = clock
        forced = format
        sink = NullRenderer(clock: clock)
    }

    private func check(_ call: Call) throws(AudioRendererError) {
        heard.withLock { $0.before }(call)
        let (fails, code) = heard.withLock { heard in
            defer {
                if call == .open, let left = heard.failingOpens {
                    heard.failingOpens = left - 1
                    if left <= 1 { (heard.failing, heard.failingOpens) = ([], nil) }
                }
            }
            return (heard.failing.contains(call), heard.code)
        }
        if fails {
            throw AudioRendererError(
                code, operation: "\(call)", subject: name, message: "It was pulled; plug it in.")
        }
    }

    /// Makes calls fail; with `opens` until that number of openings have failed.
    func fail(_ calls: Set<Call>, _ code: AudioRendererErrorCode = .system, opens: Int? = nil) {
        heard.withLock { heard in
            heard.failing = calls
            heard.failingOpens = opens
            heard.code = code
        }
    }

    /// Does something once, on the player's thread, before a call is obeyed.
    func before(_ call: Call, _ body: @escaping @Sendable () -> Void) {
        heard.withLock { heard in
            heard.before = { [weak self] called in
                guard called == call else { return }
                self?.heard.withLock { $0.before = { _ in } }
                body()
            }
        }
    }

    func open(_ wanted: AudioFormat) throws(AudioRendererError) -> AudioFormat {
        try check(.open)
        let format = try sink.open(forced ?? wanted)
        heard.withLock { heard in
            heard.format = format
            heard.opens += 1
            heard.isOpen = true
        }
        return format
    }

    var bufferFrames: Int { sink.bufferFrames }

    func write(_ samples: UnsafeRawBufferPointer) throws(AudioRendererError) -> Int {
        try check(.write)
        let taken = try sink.write(samples)
        let now = clock.now
        heard.withLock { heard in
            guard taken > 0, let format = heard.format else { return }
            heard.frames += Int64(taken)
            if format.sampleType == .float32 {
                for value in samples.bindMemory(to: Float.self) { heard.loudest = max(heard.loudest, abs(value)) }
            } else {
                for value in samples.bindMemory(to: Int16.self) {
                    heard.loudest = max(heard.loudest, abs(Float(value)) / 32768)
                }
            }
            if let last = heard.lastWrite, now - last > .milliseconds(500) { heard.silences.append((last, now)) }
            heard.lastWrite = now
        }
        return taken
    }

    func queuedFrames() throws(AudioRendererError) -> Int {
        try check(.queued)
        return try sink.queuedFrames()
    }

    func pause() throws(AudioRendererError) {
        try check(.pause)
        try sink.pause()
    }

    func resume() throws(AudioRendererError) {
        try check(.resume)
        try sink.resume()
    }

    func flush() throws(AudioRendererError) {
        try check(.flush)
        try sink.flush()
    }

    func close() {
        sink.close()
        heard.withLock { heard in
            if heard.isOpen { heard.closes += 1 }
            heard.isOpen = false
        }
    }
}

/// A player of a virtual server, with all changes of its state.
final class Listener {
    let clock: VirtualClock
    let server: VirtualServer
    let renderer: ListeningRenderer
    let player: RadioPlayer
    private let changes: Locked<[RadioPlayer.StateChange]>
    private let titles: Locked<[RadioPlayer.Title]>
    private let tasks: [Task<Void, Never>]

    init(
        _ clip: [UInt8], bitrate: Int = 128_000, format: AudioFormat? = nil,
        configuration: RadioConfiguration = RadioConfiguration()
    ) {
        let clock = VirtualClock()
        let server = VirtualServer(clip: clip, bitrate: bitrate, clock: clock)
        let renderer = ListeningRenderer(clock: clock, format: format)
        let player = RadioPlayer(
            "http://virtual/stream", renderer: renderer, configuration: configuration, clock: clock
        ) { () throws(RadioError) -> any RadioTransport in VirtualTransport(server) }
        let (states, heard) = (player.stateChanges(), player.titles())
        let changes = Locked<[RadioPlayer.StateChange]>([])
        let titles = Locked<[RadioPlayer.Title]>([])
        tasks = [
            Task {
                for await change in states {
                    changes.withLock { $0.append(change) }
                    changes.wakeAll()
                }
            },
            Task {
                for await title in heard {
                    titles.withLock { $0.append(title) }
                    titles.wakeAll()
                }
            },
        ]
        (self.clock, self.server, self.renderer, self.player) = (clock, server, renderer, player)
        (self.changes, self.titles) = (changes, titles)
    }

    deinit { for task in tasks { task.cancel() } }

    /// All changes so far.
    var seen: [RadioPlayer.StateChange] { changes.withLock { $0 } }
    var heardTitles: [RadioPlayer.Title] { titles.withLock { $0 } }

    /// Waits until a change into a state has been seen, and gives all up to it.
    func awaitState(_ state: RadioPlayer.State, count: Int = 1) -> [RadioPlayer.StateChange]? {
        changes.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { changes in
            var left = count
            for (index, change) in changes.enumerated() where change.new == state {
                left -= 1
                if left == 0 { return Array(changes[...index]) }
            }
            return nil
        }
    }

    func awaitTitle(_ text: String) -> RadioPlayer.Title? {
        titles.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { titles in titles.first { $0.text == text }
        }
    }

    /// Waits until something is true, while virtual time goes on.
    func eventually(within limit: Duration = .seconds(300), _ condition: () -> Bool) -> Bool {
        let end = MonotonicClock().now.advanced(by: limit)
        while !condition() {
            guard MonotonicClock().now < end else { return false }
            MonotonicClock().wait(until: MonotonicClock().now.advanced(by: .milliseconds(1)), or: ManualResetEvent())
        }
        return true
    }
}

/// The content of a clip.
enum Parsed {
    static func frameCount(_ clip: [UInt8]) -> Int {
        let parser = MP3FrameParser(capacity: clip.count + 8192)
        _ = clip.withUnsafeBytes { parser.append($0) }
        parser.finish()
        var count = 0
        while parser.next() != nil { count += 1 }
        return count
    }
}
