import FrameProcessing
import PipeWireSupport
import VideoCapturing

/// The thread of a camera: connects, offers the node, and sends frames.
final class CameraLoop {
    private let configuration: PipeWireCamera.Configuration
    private let mailbox: CameraMailbox
    private let processor = FrameProcessor(capacity: 4)
    private let fitter = FrameFitter()
    private var connection: PipeWireConnection?
    private var stream: CameraStream?
    /// The size of the node, which is that of the first frame.
    private var size: PixelSize?
    /// The last frame, in the node's format and size.
    private var last: VideoFrame?
    private var nextRepeat: MediaTime?
    private var backoff = BackoffPolicy(initialDelay: .milliseconds(200), maximumDelay: .seconds(10))
    private var nextAttempt: MediaTime?

    /// Programs take a camera without frames for broken.
    private static let repeatInterval = Duration.milliseconds(200)

    init(_ configuration: PipeWireCamera.Configuration, _ mailbox: CameraMailbox) {
        self.configuration = configuration
        self.mailbox = mailbox
    }

    /// Runs until the camera is closed, or could not connect at first.
    func run() {
        do throws(CaptureError) { try connect(within: .seconds(2)) } catch { return mailbox.didFail(error) }
        mailbox.didConnect()
        while !mailbox.isEnding {
            let deadline = connection == nil ? nextAttempt : nextRepeat
            _ = pollInput(connection?.descriptor ?? -1, interruptedBy: mailbox.descriptor, until: deadline)
            connection?.run()
            if let given = mailbox.take() { show(given) }
            keep()
            mailbox.setRead(stream?.isRead ?? false)
            repeatIfDue()
        }
        // Readers see the node go.
        stream = nil
        connection?.run()
    }

    private func connect(within limit: Duration) throws(CaptureError) {
        let operation = "offer a PipeWire camera"
        let made = try PipeWireConnection(configuration.server.map { .named($0) } ?? .session, for: operation)
        // A server that hangs accepts connections.
        try made.synchronize(until: MonotonicClock().now + limit, interruptedBy: -1, for: operation)
        connection = made
        if let size { try offer(size) }
        backoff.didConnect(at: MonotonicClock().now)
    }

    private func offer(_ size: PixelSize) throws(CaptureError) {
        guard let connection else { return }
        stream = try CameraStream(connection, configuration, size: size)
    }

    /// Finds the loss of the server, and connects again.
    private func keep() {
        let now = MonotonicClock().now
        if let connection, connection.loss != nil || stream?.failure != nil {
            let reason = stream?.failure.map { " (\($0))" } ?? ""
            stream = nil
            self.connection = nil
            mailbox.count { $0.connectionsLost &+= 1 }
            mailbox.warn("The PipeWire server has gone\(reason); the camera is offered again when it is back.")
            nextAttempt = now + (backoff.nextDelay(at: now) ?? .seconds(10))
        } else if connection == nil, nextAttempt.map({ $0 <= now }) ?? true {
            do throws(CaptureError) {
                // Briefly, since the end of the camera waits for it.
                try connect(within: .milliseconds(500))
            } catch {
                connection = nil
                nextAttempt = now + (backoff.nextDelay(at: now) ?? .seconds(10))
            }
        }
    }

    private func show(_ given: VideoFrame) {
        do throws(CaptureError) {
            var frame = given
            if frame.orientation != .up { frame = try processor.upright(frame) }
            // Unread, a frame costs nothing but the reference to it.
            let size = self.size ?? PixelSize(width: frame.width, height: frame.height)
            self.size = size
            last = frame
            if stream == nil, connection != nil { try offer(size) }
        } catch {
            mailbox.warn("A frame cannot be shown by the PipeWire camera: \(error)")
            return
        }
        send(isRepeat: false)
    }

    private func repeatIfDue() {
        guard let due = nextRepeat, stream?.isRead == true else {
            nextRepeat = stream?.isRead == true ? MonotonicClock().now : nil
            return
        }
        if MonotonicClock().now >= due { send(isRepeat: true) }
    }

    private func send(isRepeat: Bool) {
        guard let stream, stream.isRead, let last, let size else { return }
        do throws(CaptureError) {
            let fitted = try fitter.fit(
                try processor.convert(last, to: .nv12), width: size.width, height: size.height)
            self.last = fitted
            let now = MonotonicClock().now
            let age = now.nanoseconds(since: fitted.timestamp)
            let isRecent = !isRepeat && (0...2_000_000_000).contains(age)
            let isSent = stream.send(fitted.buffer, at: isRecent ? fitted.timestamp : now)
            nextRepeat = now + CameraLoop.repeatInterval
            mailbox.count { counts in
                guard isSent else {
                    counts.framesDropped &+= 1
                    return
                }
                counts.framesSent &+= 1
                if isRepeat { counts.framesRepeated &+= 1 }
            }
        } catch {
            mailbox.warn("A frame cannot be shown by the PipeWire camera: \(error)")
            self.last = nil
        }
    }
}
