import NIOCore
import ServerTransport
import VideoCapturing

/// Sends a stream to one viewer: one frame in flight at a time, and then the newest. On its event loop only.
///
/// The water marks of the connection are both 1, so that it is writable exactly when everything was handed to the kernel;
/// so no promise is needed to learn when a frame has left.
final class StreamViewer {
    let record: ViewerRecord
    private let context: ChannelHandlerContext
    private let hub: LoopHub
    private let clock = MonotonicClock()
    private let sendTimeout: Duration
    private let isSecure: Bool
    private let transport: Transport

    /// The frame in flight, and the bytes written of it.
    private var sending: (part: FramePart, occasion: LoopHub.Occasion, bytes: Int)?
    private(set) var sendingSince = MediaTime.zero
    /// The number of its bytes that wait for this viewer alone; nil while the kernel has taken all of it.
    private var waitingByteCount: Int?
    /// Whether something newer has come meanwhile.
    private var isBehind = false
    /// Whether the last offer was a new frame; for `dual_final_frames`.
    private var hadNew = false
    private var isClosed = false
    /// The viewer's own part head, where it asked for one.
    private var head = ByteBuffer()

    init(
        _ record: ViewerRecord, on context: ChannelHandlerContext, of hub: LoopHub,
        sendTimeout: Duration, isSecure: Bool, transport: Transport
    ) {
        self.record = record
        self.context = context
        self.hub = hub
        self.sendTimeout = sendTimeout
        self.isSecure = isSecure
        self.transport = transport
    }

    /// Takes a part, or records that there is one while the previous one is still in flight.
    func offer(_ part: FramePart, _ occasion: LoopHub.Occasion, missed: UInt64, at now: MediaTime) {
        guard !isClosed else { return }
        if missed > 0 { record.recordSkipped(missed) }
        if occasion == .same {
            // Once only, after a new one.
            guard record.parameters.dualFinalFrames, hadNew else { return }
            hadNew = false
        } else {
            hadNew = occasion == .new
        }
        guard sending == nil, context.channel.isWritable else {
            // A repeated frame that is left out is not missed.
            if occasion == .new, isBehind { record.recordSkipped(1) }
            if occasion == .new || sending == nil { isBehind = true }
            if now - sendingSince > sendTimeout, sending != nil { disconnect() }
            return
        }
        send(part, occasion, at: now)
    }

    /// The connection has taken all bytes, or has more than it can take.
    func writabilityChanged() {
        guard context.channel.isWritable else { return }
        if sending != nil { finishSending() }
        guard sending == nil, isBehind, !isClosed, let latest = hub.viewers.latest else { return }
        send(latest, hub.viewers.latestOccasion, at: clock.now)
    }

    /// The connection has been closed.
    func close() {
        isClosed = true
        stopWaiting()
        sending?.part.endRead()
        sending = nil
    }

    /// Ends the connection since too much waits in memory.
    func giveUp() {
        hub.waiting.recordDisconnection()
        disconnect()
    }

    /// Ends the connection at once, with the bytes that it has not taken.
    func disconnect() {
        close()
        transport.close()
    }

    /// Whether disconnecting the viewer releases memory: it has yet to take another part than the one that is shown now, or
    /// has an encrypted copy.
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
        isBehind = false
        sendingSince = now
        sending = (part, occasion, 0)
        if record.parameters.isPlain { write(part.whole) } else { writeWithOwnHead(part, at: now) }
        context.flush()
        // Usually the kernel has taken all of it by now, and the change of writability has been handled.
        if sending != nil, context.channel.isWritable { finishSending() }
        startWaiting()
        if hub.waiting.isExceeded { hub.viewers.disconnectSlowest(until: hub.waiting) }
    }

    private func writeWithOwnHead(_ part: FramePart, at now: MediaTime) {
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
            if parameters.zeroData { PartHead.writeBoundary(to: &head) }
            write(head)
            if !parameters.zeroData { write(part.body) }
        } else {
            if parameters.zeroData {
                PartHead.writeBoundary(to: &head)
            } else {
                write(part.body)
            }
            // All that is known of the next frame is that it is not older than now.
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
        record.recordSent(bytes: sent.bytes, at: now)
        if sent.occasion == .new, sent.part.information.isOnline {
            hub.recordLatency(of: sent.part.information.timestamp, at: now)
        }
    }
}

/// One viewer of the stream, as the statistics show it. Safe to use from any thread.
final class ViewerRecord: Sendable {
    /// A random number, found again in `/state` and in the viewer's cookie.
    let id: UInt64
    let parameters: StreamParameters
    /// The IP address that the viewer connects from; `local` without one.
    let peer: String

    struct Counts {
        var sent: UInt64 = 0
        var skipped: UInt64 = 0
        var bytes: UInt64 = 0
        var rate = RateMeter()
    }

    private let counts = Locked(Counts())

    init(_ parameters: StreamParameters, peer: String) {
        id = .random(in: 1 ... .max)
        self.parameters = parameters
        self.peer = peer
    }

    func recordSent(bytes: Int, at now: MediaTime) {
        counts.withLock { counts in
            counts.sent += 1
            counts.bytes += UInt64(bytes)
            counts.rate.add(1, at: now)
        }
    }

    func recordSkipped(_ frames: UInt64) { counts.withLock { $0.skipped += frames } }

    var current: Counts { counts.withLock { $0 } }

    func frameRate(at now: MediaTime) -> Double { counts.withLock { $0.rate.perSecond(at: now) } }
}

/// The parameters that a viewer may give in the address of a stream; those of uStreamer.
struct StreamParameters: Sendable, Hashable {
    /// A name that the viewer chooses, repeated in `/state` and in its cookie; percent-encoded.
    var key: String?
    /// Times, sizes and counts in each part's head.
    var extraHeaders = false
    /// Each part's head directly after the previous part.
    var advanceHeaders = false
    /// The last frame of a series once more, when the following ones are left out since they show the same.
    var dualFinalFrames = false
    /// Heads without JPEG data.
    var zeroData = false

    init(_ query: Query = Query("")) {
        key = query["key"].map { percentEncoded($0.prefix(128).utf8) }
        extraHeaders = query.isTrue("extra_headers")
        advanceHeaders = query.isTrue("advance_headers")
        dualFinalFrames = query.isTrue("dual_final_frames")
        zeroData = query.isTrue("zero_data")
    }

    /// Whether the viewer gets the parts with their common head.
    var isPlain: Bool { !extraHeaders && !advanceHeaders && !zeroData }
}
