import RTP
import StreamTransport
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What runs on the second thread of an output: sends reports, and does what receivers ask for.
///
/// It sleeps in one `poll` for the receivers' messages and the next report. Nothing is allocated for a message, and the
/// encoder is asked with no lock held.
final class ReportLoop {
    /// What is to be asked of the encoder.
    private struct Wishes {
        var isKeyFrameNeeded = false
        /// Whether the limit of the bitrate has changed, and the new one.
        var bitrate: Int??
    }

    private let hub: RTPHub
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: RTCPParser.maximumSize + 1, alignment: 16)
    private var descriptors: [pollfd] = []
    private var sockets: [DatagramSocket] = []
    /// The datagrams that are read before the other work is looked at again.
    private static let datagramsInTurn = 64

    init(_ hub: RTPHub) {
        self.hub = hub
        if let (video, audio) = hub.state.withLock({ $0.sockets }) { sockets = [video.reports, audio.reports] }
        descriptors = sockets.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        descriptors.append(pollfd(fd: hub.wake.descriptor, events: Int16(POLLIN), revents: 0))
    }

    deinit { buffer.deallocate() }

    func run() {
        while true {
            hub.wake.reset()
            guard hub.state.withLock({ $0.phase == .open }) else { break }
            var wishes = Wishes()
            for (index, socket) in sockets.enumerated() where descriptors[index].revents != 0 {
                read(socket, &wishes)
            }
            let deadline = hub.state.withLock { state in
                let now = MonotonicClock().now
                report(at: now, &state)
                if state.limiter.takeDue(at: now) { wishes.isKeyFrameNeeded = true }
                if let estimate = state.estimate, now >= estimate.until {
                    state.estimate = nil
                    wishes.bitrate = .some(nil)
                }
                if wishes.isKeyFrameNeeded { state.keyFramesAsked += 1 }
                return [state.nextReport, state.limiter.due, state.estimate?.until].compactMap(\.self).min()
            }
            ask(wishes)
            _ = descriptors.withUnsafeMutableBufferPointer { pollAll($0, until: deadline) }
        }
        sayGoodbye()
    }

    private func ask(_ wishes: Wishes) {
        let feedback = hub.state.withLock { $0.feedback }
        if wishes.isKeyFrameNeeded { feedback?.requestKeyFrame() }
        if let bitrate = wishes.bitrate { feedback?.requestBitrate(bitrate) }
    }

    // MARK: Reports

    private func report(at now: MediaTime, _ state: inout RTPHub.State) {
        guard now >= state.nextReport else { return }
        state.nextReport = now.advanced(by: RTPHub.reportInterval)
        for channel in state.channels {
            hub.sendReport(of: channel, &state) { channel.sender.writeReport(into: $0, at: now) }
        }
    }

    private func sayGoodbye() {
        hub.state.withLock { state in
            for channel in state.channels {
                hub.sendReport(of: channel, isLast: true, &state) {
                    channel.sender.writeGoodbye(into: $0, at: MonotonicClock().now)
                }
            }
        }
    }

    // MARK: Messages

    private func read(_ socket: DatagramSocket, _ wishes: inout Wishes) {
        for _ in 0..<ReportLoop.datagramsInTurn {
            let count = socket.receive(into: buffer)
            if count == -Int(ECONNREFUSED) { hub.state.withLock { $0.isRefused = true } }
            guard count > 0 else {
                // An error of the socket is reported once, and messages may follow.
                if count == -Int(EAGAIN) { return } else { continue }
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            hub.state.withLock { state in
                let now = MonotonicClock().now
                // The parser is taken out, since what it calls uses the rest.
                var parser = state.parser
                parser.parse(bytes, at: now) { take($0, at: now, &state, &wishes) }
                state.parser = parser
            }
        }
    }

    private func take(_ event: RTCPEvent, at now: MediaTime, _ state: inout RTPHub.State, _ wishes: inout Wishes) {
        if case .maximumBitrate(let bitrate, _) = event {
            takeEstimate(bitrate, at: now, &state, &wishes)
            return
        }
        for index in state.channels.indices {
            let channel = state.channels[index]
            let isAsked = channel.sender.handle(event, at: now) { hub.add($0, of: channel, at: now, &state) }
            hub.sendBatch(of: channel, &state)
            let isVideo = channel.sender.configuration.format != .opus
            if isAsked, isVideo, state.limiter.request(at: now) { wishes.isKeyFrameNeeded = true }
        }
    }

    /// A limit is asked for when it differs by more than five percent from the last one: receivers state one each second.
    private func takeEstimate(
        _ bitrate: Int, at now: MediaTime, _ state: inout RTPHub.State, _ wishes: inout Wishes
    ) {
        let last = state.estimate?.bitrate
        // Below that nothing is to be seen.
        let limit = max(bitrate, 30_000)
        let isNew = last.map { abs($0 - limit) > $0 / 20 } ?? true
        state.estimate = (isNew ? limit : last ?? limit, now.advanced(by: hub.configuration.estimateTimeout))
        guard isNew else { return }
        wishes.bitrate = .some(limit)
        for channel in state.channels {
            channel.sender.targetBitrate = min(limit, channel.sender.configuration.maximumBitrate)
        }
    }
}
