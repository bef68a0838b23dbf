import NIOCore
import VideoCapturing

/// Sends a stream to one viewer: one frame on its way at a time, and then the newest.
///
/// The connection's marks for pending bytes are both 1, so that it is writable exactly when all was handed to the
/// kernel; so no promise is needed to learn when a frame has left. In turns with others of its event loop, and on that loop
/// where nothing else is said; see ``ViewerTurns``.
final class StreamViewer {
    let record: ViewerRecord
    private let context: ChannelHandlerContext
    /// Its state may be asked for on any thread, which the context's may not.
    private let channel: any Channel
    private let hub: LoopHub
    private let list: ViewerList
    private let clock = MonotonicClock()
    private let sendTimeout: Duration
    private let isSecure: Bool
    private let transport: Transport
    /// Nil where the bytes must go through the channel: with TLS.
    private let socket: DirectSocket?
    /// For sending on other threads; nil where that is not done.
    private var ownSocket: DirectSocket?

    /// The frame on its way; and whether it is to be counted for latency.
    private var sending: (part: FramePart, occasion: LoopHub.Occasion, bytes: Int)?
    private(set) var sendingSince = MediaTime.zero
    /// The bytes of it that wait for this viewer alone; nil while all of it has been taken.
    private var waitingByteCount: Int?
    /// What is left of it where another thread has begun.
    private var rest: ByteBuffer?
    /// The number of the last part that was begun on another thread.
    private(set) var lastAtOnce: UInt64 = 0
    /// Whether something newer has come meanwhile.
    private var isBehind = false
    /// Whether the last offer was a new frame; for `dual_final_frames`.
    private var hadNew = false
    private var isClosed = false
    /// The viewer's own part head, where he asked for one.
    private var head = ByteBuffer()

    init(
        _ record: ViewerRecord, on context: ChannelHandlerContext, of hub: LoopHub,
        sendTimeout: Duration, isSecure: Bool, transport: Transport
    ) {
        self.record = record
        self.context = context
        channel = context.channel
        self.hub = hub
        list = hub.withViewers { $0 }
        self.sendTimeout = sendTimeout
        self.isSecure = isSecure
        self.transport = transport
        socket = isSecure ? nil : DirectSocket(context)
        ownSocket = record.parameters.isPlain && hub.hasRoomForViewersAtOnce ? socket?.duplicate() : nil
    }

    deinit { ownSocket?.close() }

    /// Takes a part, or notes that there is one when the one before is still on its way.
    func offer(_ part: FramePart, _ occasion: LoopHub.Occasion, missed: UInt64, at now: MediaTime) {
        guard !isClosed else { return }
        if missed > 0 { record.noteSkipped(missed) }
        if occasion == .same {
            // Once only, after a new one.
            guard record.parameters.dualFinalFrames, hadNew else { return }
            hadNew = false
        } else {
            hadNew = occasion == .new
        }
        guard sending == nil, channel.isWritable else {
            // A repeated frame is nothing that one could miss.
            if occasion == .new, isBehind { record.noteSkipped(1) }
            if occasion == .new || sending == nil { isBehind = true }
            if now - sendingSince > sendTimeout, sending != nil { disconnect() }
            return
        }
        send(part, occasion, at: now)
    }

    /// Takes a new part if the one before has left, on the thread that has it.
    ///
    /// - Returns: whether the kernel took all of it. If it took a piece, ``lastAtOnce`` is `number`, and ``sendRest()`` must
    ///   follow on the loop.
    func takeAtOnce(_ part: FramePart, number: UInt64, at now: MediaTime) -> Bool {
        guard let ownSocket, !isClosed, sending == nil, channel.isActive, channel.isWritable else { return false }
        var bytes = part.whole
        bytes.moveReaderIndex(forwardBy: ownSocket.send(bytes))
        guard bytes.readableBytes < part.byteCount else { return false }
        lastAtOnce = number
        hadNew = true
        isBehind = false
        sendingSince = now
        sending = (part, .new, part.byteCount)
        guard bytes.readableBytes == 0 else {
            rest = bytes
            startWaiting()
            return false
        }
        finishSending()
        return true
    }

    /// Goes on with what another thread has begun.
    func sendRest() {
        guard let rest = rest.take() else { return }
        context.writeAndFlush(NIOAny(rest), promise: nil)
        if sending != nil, channel.isWritable { finishSending() }
    }

    /// The connection has taken all bytes, or has more than it can take.
    func writabilityChanged() {
        guard channel.isWritable else { return }
        if sending != nil { finishSending() }
        guard sending == nil, isBehind, !isClosed, let latest = list.latest else { return }
        isBehind = false
        send(latest, list.latestOccasion, at: clock.now)
    }

    /// The connection has gone.
    func close() {
        isClosed = true
        rest = nil
        ownSocket.take()?.close()
        stopWaiting()
        sending?.part.endRead()
        sending = nil
    }

    /// Ends the connection since too much waits in memory.
    func giveUp() {
        hub.recordDisconnection()
        disconnect()
    }

    /// Ends the connection, whatever it has not taken.
    func disconnect() {
        close()
        transport.close()
    }

    /// Whether less waits once the viewer has gone: it has yet to take another part than the one that is shown now, or has an
    /// encrypted copy.
    func holdsMemory(besides shown: FramePart?) -> Bool {
        guard let sending, let waitingByteCount else { return false }
        return sending.part !== shown || waitingByteCount > 0
    }

    private func startWaiting() {
        guard let sending, waitingByteCount == nil else { return }
        hub.waiting.hold(sending.part)
        // Encrypted, it is a copy of the viewer's own.
        let own = isSecure ? sending.bytes : 0
        waitingByteCount = own
        hub.waiting.add(own)
    }

    private func stopWaiting() {
        guard let sending, let own = waitingByteCount.take() else { return }
        hub.waiting.release(sending.part)
        hub.waiting.remove(own)
    }

    private func send(_ part: FramePart, _ occasion: LoopHub.Occasion, at now: MediaTime) {
        let parameters = record.parameters
        isBehind = false
        sendingSince = now
        if parameters.isPlain {
            var bytes = part.whole
            sending = (part, occasion, bytes.readableBytes)
            if let socket, channel.isActive {
                bytes.moveReaderIndex(forwardBy: socket.send(bytes))
                if bytes.readableBytes == 0 { return finishSending() }
            }
            context.writeAndFlush(NIOAny(bytes), promise: nil)
        } else {
            sending = (part, occasion, 0)
            sendWithOwnHead(part, at: now)
            context.flush()
        }
        // Usually it has all been taken by now, and the change of writability has told so.
        if sending != nil, channel.isWritable { finishSending() }
        startWaiting()
        if hub.waiting.isExceeded { list.disconnectSlowest(until: hub.waiting) }
    }

    private func sendWithOwnHead(_ part: FramePart, at now: MediaTime) {
        let parameters = record.parameters
        head.clear()
        if !parameters.advanceHeaders {
            PartHead.write(
                length: parameters.zeroData ? 0 : part.jpegByteCount, wallClock: part.information.wallClock, to: &head)
            if parameters.extraHeaders {
                PartHead.writeExtra(
                    part.information, viewerFrameRate: Int(record.frameRate(at: now).rounded()), exposedAt: now,
                    now: now, to: &head)
            }
            head.writeStaticString("\r\n")
            if parameters.zeroData {
                PartHead.writeBoundary(to: &head)
            }
            write(head)
            if !parameters.zeroData { write(part.body) }
        } else {
            if parameters.zeroData {
                PartHead.writeBoundary(to: &head)
            } else {
                write(part.body)
            }
            // Of the frame to come nothing is known but that it is not before now.
            PartHead.writeAdvance(wallClock: WallClock.now, to: &head)
            write(head)
        }
    }

    private func write(_ bytes: ByteBuffer) {
        sending?.bytes += bytes.readableBytes
        context.write(NIOAny(bytes), promise: nil)
    }

    private func finishSending() {
        guard let sent = sending else { return }
        stopWaiting()
        sending = nil
        let now = clock.now
        sent.part.endRead()
        record.noteSent(bytes: sent.bytes, at: now)
        if sent.occasion == .new, sent.part.information.isOnline {
            hub.noteLatency(of: sent.part.information.timestamp, at: now)
        }
    }
}
