import MediaPublishing
import NIOCore
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Recordings: the page, the list and clips. On the connection's event loop, but for reading the disk, which threads do.
extension ConnectionHandler {
    /// How many threads read recordings at a time; each clip has one for as long as its client takes.
    private static let maximumThreads = 8

    func answerRecordings(_ part: RecordingsPart, _ query: Query, isChunked: Bool) {
        guard let index = service.broadcaster.recording.withLock({ $0 })?.index else {
            return answer(
                Reply(404, "There are no recordings here; add files that follow each other (--split or --record-on)."))
        }
        switch part {
        case .page: answer(service.recordingsPage)
        case .list:
            guard let (from, to) = RecordingsQuery.range(query) else { return answer(RecordingsQuery.refusal) }
            read { handler in
                let (found, unknownCount) = index.list(from: from, to: to)
                let text = RecordingsQuery.json(found, unknownCount: unknownCount)
                handler.finish { $0.answer(Reply(.recordings(.list), ByteBuffer(string: text))) }
            }
        case .clip:
            guard let (start, duration) = RecordingsQuery.clip(query) else { return answer(RecordingsQuery.refusal) }
            let isSaved = query.isTrue("download")
            read { handler in
                do {
                    let clip = try index.clip(from: start, duration: duration)
                    handler.send(clip, isSaved: isSaved, isChunked: isChunked)
                } catch {
                    let reply = RecordingsQuery.reply(error)
                    handler.finish { $0.answer(reply) }
                }
            }
        }
    }

    /// Runs a function on a separate thread.
    private func read(_ body: @escaping @Sendable (RecordingsThread) -> Void) {
        guard let context else { return }
        let isFree = service.recordingThreads.withLock { count in
            guard count < ConnectionHandler.maximumThreads else { return false }
            count += 1
            return true
        }
        guard isFree else { return answerBusy() }
        phase = .awaitingRecordings
        setDeadline(after: service.configuration.limits.sendTimeout) { handler in
            handler.phase = .answering
            handler.staysOpen = false
            handler.answer(Reply(503, "The disk with the recordings does not answer; try again later."))
        }
        let thread = RecordingsThread(
            handler: NIOLoopBound(self, eventLoop: context.eventLoop), hub: hub,
            sendTimeout: service.configuration.limits.sendTimeout, isHeadOnly: isHeadOnly)
        do {
            try CaptureThread(name: "recordings") { [service] in
                body(thread)
                service.recordingThreads.withLock { $0 -= 1 }
            }
        } catch {
            service.recordingThreads.withLock { $0 -= 1 }
            phase = .answering
            answerBusy()
        }
    }

    private func answerBusy() {
        var reply = Reply(503, "Many clips are being read at this moment; try again later.")
        reply.headers = [("Retry-After", "5")]
        answer(reply)
    }

    /// Begins the answer of a clip.
    fileprivate func beginClip(_ clip: Reply, isChunked: Bool) {
        guard case .awaitingRecordings = phase, let context else { return }
        gate.close()
        staysOpen = false
        service.connections.recordAnswer(clip.status)
        phase = .sendingClip(isChunked: isChunked)
        setDeadline(after: service.configuration.limits.sendTimeout) { $0.context?.close(promise: nil) }
        context.writeAndFlush(NIOAny(clip.head(crossOrigin: crossOrigin, staysOpen: false)), promise: nil)
    }

    /// Sends a part of a clip.
    ///
    /// - Parameter done: called when the kernel has it, or with false when the client has gone.
    fileprivate func sendPart(_ bytes: ByteBuffer, _ done: @escaping @Sendable (Bool) -> Void) {
        guard case .sendingClip(let isChunked) = phase, let context else { return done(false) }
        setDeadline(after: service.configuration.limits.sendTimeout) { $0.context?.close(promise: nil) }
        var buffer = ByteBuffer()
        if isChunked { buffer.writeString(String(bytes.readableBytes, radix: 16) + "\r\n") }
        buffer.writeImmutableBuffer(bytes)
        if isChunked { buffer.writeStaticString("\r\n") }
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { result in
            if case .success = result { done(true) } else { done(false) }
        }
        context.writeAndFlush(NIOAny(buffer), promise: promise)
    }

    /// Ends a clip. One that is not whole ends without its last chunk, so that the client knows.
    fileprivate func endClip(isWhole: Bool) {
        guard case .sendingClip(let isChunked) = phase, let context else { return }
        phase = .closing
        guard isWhole || !isChunked else { return context.close(promise: nil) }
        if isChunked { context.writeAndFlush(NIOAny(ByteBuffer(string: "0\r\n\r\n")), promise: nil) }
        setDeadline(after: service.configuration.limits.sendTimeout) { $0.context?.close(promise: nil) }
        context.close(mode: .output, promise: nil)
    }
}

/// What a thread that reads recordings has of its connection.
private struct RecordingsThread: Sendable {
    let handler: NIOLoopBound<ConnectionHandler>
    let hub: LoopHub
    let sendTimeout: Duration
    let isHeadOnly: Bool

    private static let blockSize = 64 * 1024

    /// Answers on the event loop, unless the client has gone.
    func finish(_ body: @escaping @Sendable (ConnectionHandler) -> Void) {
        hub.execute {
            guard case .awaitingRecordings = handler.value.phase else { return }
            handler.value.phase = .answering
            body(handler.value)
        }
    }

    /// Sends a clip while another thread cuts it.
    func send(_ clip: RecordingClip, isSaved: Bool, isChunked: Bool) {
        var reply = Reply(.recordings(.clip), ByteBuffer())
        reply.contentType = clip.mediaType
        reply.tellsLength = false
        reply.headers = [("X-Recording-Start", fixed(clip.start.seconds, 3))]
        if isChunked, !isHeadOnly { reply.headers.append(("Transfer-Encoding", "chunked")) }
        if isSaved {
            let name = "\(clip.start.components.seconds).\(clip.fileExtension)"
            reply.headers.append(("Content-Disposition", "attachment; filename=\"recording-\(name)\""))
        }
        let head = reply
        guard !isHeadOnly else { return finish { $0.answer(head) } }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            return finish { $0.answer(Reply(503, "The system allows no further file; try again later.")) }
        }
        let (output, input) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(output) }
        hub.execute { handler.value.beginClip(head, isChunked: isChunked) }
        let isWanted = Locked(true)
        let isWhole = Locked(false)
        let cutting = UncheckedClip(clip: clip)
        do {
            try CaptureThread(name: "clip") {
                // Nothing but the end of the clip shows a fault that comes after its head.
                if (try? cutting.clip.write(to: "/proc/self/fd/\(input)", isWanted: { isWanted.withLock { $0 } }))
                    != nil
                {
                    isWhole.withLock { $0 = true }
                }
                close(input)
            }
        } catch {
            close(input)
        }
        var block = [UInt8](repeating: 0, count: RecordingsThread.blockSize)
        while true {
            let count = read(output, &block, block.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            // A client that has gone: the rest is discarded until the other thread has noticed.
            guard isWanted.withLock({ $0 }) else { continue }
            if !sendPart(ByteBuffer(bytes: block[..<count])) { isWanted.withLock { $0 = false } }
        }
        let isComplete = isWhole.withLock { $0 }
        hub.execute { handler.value.endClip(isWhole: isComplete) }
    }

    /// Waits until the kernel has a part.
    private func sendPart(_ bytes: ByteBuffer) -> Bool {
        let result = Locked<Bool?>(nil)
        hub.execute {
            handler.value.sendPart(bytes) { isSent in
                result.withLock { $0 = isSent }
                result.wakeAll()
            }
        }
        return result.wait(until: MonotonicClock().now + sendTimeout + .seconds(5)) { $0 } ?? false
    }
}

/// A clip that is handed to the thread which writes it.
private struct UncheckedClip: @unchecked Sendable {
    let clip: RecordingClip
}
