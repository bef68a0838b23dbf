import VideoCapturing

/// Writes the clips of a ``TriggeredOutput``, one after the other, on a separate thread, so that no disk delays an encoder or a
/// trigger.
final class ClipWriter: Sendable {
    private let state: Locked<ClipState>
    private let retention: FileRetention
    private let clock: any CaptureClock
    private let make: @Sendable (String) throws -> any MediaOutput
    /// The number of the next file.
    private let number: Locked<Int>
    private let writeTimeout = Locked<Duration?>(nil)

    /// How often a clip without packets is looked at.
    private static let checkInterval = Duration.milliseconds(500)
    /// How often files are looked at whose time may have come.
    private static let retentionInterval = Duration.seconds(60)
    /// Packets may come so late after their time, when the source still runs.
    private static let longestDelay = Duration.seconds(4)

    init(
        _ state: Locked<ClipState>, files: FileRetention, number: Int, clock: any CaptureClock,
        _ make: @escaping @Sendable (String) throws -> any MediaOutput
    ) {
        self.state = state
        retention = files
        self.number = Locked(number)
        self.clock = clock
        self.make = make
    }

    func start(_ context: OutputContext) throws(CaptureError) {
        state.withLock { state in
            state.context = context
            state.isWriting = true
        }
        do {
            try CaptureThread(name: "clips") { [self] in run(context) }
        } catch {
            state.withLock { $0.isWriting = false }
            throw error
        }
    }

    func setWriteTimeout(_ timeout: Duration?) {
        writeTimeout.withLock { $0 = timeout }
        state.withLock { $0.current }?.setWriteTimeout(timeout)
    }

    private enum Task {
        case write(Clip)
        case tidy
        case end
    }

    private func run(_ context: OutputContext) {
        var isRunning = true
        while isRunning {
            let limit = retention.changesWithTime ? ClipWriter.retentionInterval : .seconds(86_400)
            let task = state.wait(until: MonotonicClock().now + limit) { state -> Task? in
                if let clip = state.clips.first { return .write(clip.withoutPackets) }
                return state.isClosing ? .end : nil
            }
            switch task ?? .tidy {
            case .write(let clip): write(clip, context)
            case .tidy: deleteOldest()
            case .end: isRunning = false
            }
        }
        state.withLock { $0.isWriting = false }
        state.wakeAll()
    }

    private func deleteOldest(besides path: String? = nil) {
        let count = retention.deleteOldest(besides: path.map { [$0] } ?? [])
        if count > 0 { state.withLock { $0.counts.deleted += count } }
    }

    // MARK: One clip

    private func write(_ clip: Clip, _ context: OutputContext) {
        guard let first = nextPackets() else {
            // It was ended before the first picture.
            finish(.init(clip), context)
            return
        }
        var file = File(clip)
        do {
            let output = try open(&file, context)
            file.start = first.packets.first?.timestamp
            if let recording = recording(file) { context.recording.index?.begin(recording) }
            var batch: Batch? = first
            while let packets = batch?.packets {
                for packet in packets {
                    try file.sink?.write(packet)
                    file.end = max(file.end ?? packet.timestamp, packet.timestamp + packet.duration)
                }
                batch = nextPackets()
            }
            let sink = file.sink.take()
            try sink?.finish()
            file.isClosed = true
            try output.close(at: nil)
        } catch {
            file.error = error
            try? file.sink?.finish()
            if !file.isClosed { try? file.output?.close(at: nil) }
        }
        finish(file, context)
    }

    /// A clip's file.
    private struct File {
        let clip: Clip
        var path = ""
        var output: (any MediaOutput)?
        var sink: (any PacketSink)?
        var start: MediaTime?
        var end: MediaTime?
        var isClosed = false
        var error: (any Error)?

        init(_ clip: Clip) { self.clip = clip }
    }

    private func open(_ file: inout File, _ context: OutputContext) throws -> any MediaOutput {
        let seconds = file.clip.date.components.seconds
        let path = try number.withLock { number in
            defer { number += 1 }
            return try retention.files.nextPath(&number, time: seconds)
        }
        file.path = path
        // First, so that there is space.
        deleteOldest(besides: path)
        let output = try make(path)
        output.setWriteTimeout(writeTimeout.withLock { $0 })
        var context = context
        let failure = Locked<(any Error)?>(nil)
        context.fail = { error in failure.withLock { $0 = $0 ?? error } }
        guard case .sink(let sink) = try output.open(context) else {
            preconditionFailure("an output of packets has opened for frames")
        }
        file.output = output
        file.sink = sink
        let tracks = state.withLock { state in
            state.current = output
            state.lastPath = path
            return state.tracks
        }
        context.recording.post(event(.begin, file, date: file.clip.date))
        try sink.begin(tracks)
        if let error = failure.withLock({ $0 }) { throw error }
        return output
    }

    private struct Batch {
        var packets: [MediaPacket]
    }

    /// The packets of the first clip that wait; nil when there will be no more.
    private func nextPackets() -> Batch? {
        while true {
            let next = state.wait(until: MonotonicClock().now + ClipWriter.checkInterval) { state -> Batch?? in
                guard !state.clips.isEmpty else { return .some(nil) }
                if !state.clips[0].waiting.isEmpty { return Batch(packets: state.clips[0].takeWaiting()) }
                return state.clips[0].isComplete ? .some(nil) : nil
            }
            if let next { return next }
            completeOverdue()
        }
    }

    /// Ends the clips of a source that gives nothing more, by the clock.
    private func completeOverdue() {
        let now = clock.now
        state.withLock { state in
            guard state.context?.pacing == .realTime else { return }
            for index in state.clips.indices {
                if let end = state.clips[index].end, now >= end + ClipWriter.longestDelay {
                    state.clips[index].complete()
                }
            }
        }
    }

    /// Reports a clip that is complete or lost, and goes on with the next.
    private func finish(_ file: File, _ context: OutputContext) {
        let bytes = file.output?.outputStatistics.bytes ?? 0
        let clip = state.withLock { state in
            let clip = state.clips.first { $0.number == file.clip.number } ?? file.clip
            state.clips.removeAll { $0.number == clip.number }
            state.current = nil
            state.counts.bytes &+= bytes
            if file.error == nil, file.start != nil { state.counts.written += 1 } else { state.counts.failed += 1 }
            return clip
        }
        if let error = file.error {
            let name = file.path.isEmpty ? retention.files.folder : file.path
            context.warn("\(name): the clip is not whole. \(error)")
        } else if file.start == nil {
            context.warn("A clip (\(clip.reasons[0])) was not recorded, since there were no pictures.")
            return
        } else if clip.packetsLost > 0 {
            context.warn(
                "\(file.path): the disk was too slow, and \(clip.packetsLost) packets of the clip are missing; "
                    + "groups of pictures were left out.")
        }
        if var recording = recording(file) {
            recording.reasons = clip.reasons
            context.recording.index?.end(recording)
        }
        var ended = event(.end, file, date: wallClockTime())
        ended.reasons = clip.reasons
        ended.bytes = bytes
        ended.error = file.error
        context.recording.post(ended)
    }

    /// What the file shows so far; nil before its first packet.
    private func recording(_ file: File) -> Recording? {
        file.start.map { start in
            Recording(
                path: file.path, start: file.clip.date + (start - file.clip.time),
                duration: file.end.map { $0 - start } ?? .zero, reasons: file.clip.reasons, detail: file.clip.detail,
                isOngoing: file.end == nil)
        }
    }

    private func event(_ phase: RecordingEvent.Phase, _ file: File, date: Duration) -> RecordingEvent {
        RecordingEvent(
            phase: phase, clip: file.clip.number, reasons: file.clip.reasons, detail: file.clip.detail, path: file.path,
            date: date, duration: file.start.flatMap { start in file.end.map { $0 - start } } ?? .zero, bytes: 0,
            error: nil)
    }
}
