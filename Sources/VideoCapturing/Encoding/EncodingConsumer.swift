/// Encodes the frames it is given and hands the packets to any number of packet consumers.
///
/// Put it behind a publisher's queue: encoding then runs on that queue's thread and never delays the capture. A
/// packet consumer that throws is finished and left out; the others go on.
///
/// Safe to use from any thread.
public final class EncodingConsumer: VideoCaptureConsumer {
    /// A packet consumer or the encoder that has failed.
    public struct Failure: Sendable {
        /// The packet consumer's name; nil when the encoder itself failed, which ends all of them.
        public var consumer: String?
        public var error: any Error
    }

    private struct Work {
        let encoder: any VideoEncoder
        var outputs: [Output]
        var hasFinished = false
    }

    private struct Output {
        let name: String
        let consumer: any PacketConsumer
    }

    /// Held while a frame is encoded, by the one thread that does it, and by ``finish()``.
    private let work: Locked<Work>
    private let counts = Locked(EncodingCounts())
    private let isKeyFrameRequested = Locked(false)
    private let clock: any CaptureClock
    private let onFailure: @Sendable (Failure) -> Void

    /// - Parameters:
    ///   - encoder: handed over for good.
    ///   - packetConsumers: who gets the packets, each with a name for failures.
    ///   - clock: the clock of the frames' timestamps.
    ///   - onFailure: called on the encoding thread for each consumer that fails, and when the encoder does.
    public init(
        _ encoder: sending any VideoEncoder, to packetConsumers: [(name: String, consumer: any PacketConsumer)],
        clock: any CaptureClock = MonotonicClock(), onFailure: @escaping @Sendable (Failure) -> Void = { _ in }
    ) {
        work = Locked(
            Work(encoder: encoder, outputs: packetConsumers.map { Output(name: $0.name, consumer: $0.consumer) }))
        self.clock = clock
        self.onFailure = onFailure
    }

    public func consumeFrame(_ frame: VideoFrame) {
        let forceKeyFrame = isKeyFrameRequested.withLock { isRequested in
            defer { isRequested = false }
            return isRequested
        }
        work.withLock { work in
            guard !work.hasFinished, !work.outputs.isEmpty else { return }
            let begin = clock.now
            var packets = 0
            var unchanged: UInt64 = 0
            do {
                let encoder = work.encoder
                let unchangedBefore = encoder.framesUnchanged
                defer { unchanged = encoder.framesUnchanged - unchangedBefore }
                try encoder.encode(frame, forceKeyFrame: forceKeyFrame) { packet in
                    packets += 1
                    // Before it is handed on: what consumers do is not the encoder's time.
                    let now = clock.now
                    counts.withLock { $0.add(packet, encodeTime: now - begin, latency: now - frame.timestamp) }
                    hand(packet, to: &work.outputs)
                }
            } catch {
                fail(error, &work)
            }
            counts.withLock {
                $0.framesIn += 1
                $0.framesUnchanged += unchanged
                $0.framesDropped += packets == 0 && unchanged == 0 ? 1 : 0
            }
        }
    }

    /// Makes the next frame a key frame.
    public func requestKeyFrame() {
        isKeyFrameRequested.withLock { $0 = true }
    }

    /// Hands out what the encoder holds back and finishes every packet consumer. Frames that come later are not
    /// taken. Call it when the queue has been drained (after the publisher's stop); repeated calls are harmless.
    public func finish() {
        work.withLock { work in
            guard !work.hasFinished else { return }
            do {
                let encoder = work.encoder
                try encoder.flush { hand($0, to: &work.outputs) }
            } catch {
                fail(error, &work)
            }
            endAll(&work)
        }
    }

    /// What was counted. Never waits for a frame being encoded.
    public var statistics: EncodingStatistics {
        counts.withLock { $0.statistics }
    }

    /// Whether any packet consumer is still being served.
    public var isActive: Bool { work.withLock { !$0.hasFinished && !$0.outputs.isEmpty } }

    private func hand(_ packet: EncodedPacket, to outputs: inout [Output]) {
        var index = 0
        while index < outputs.count {
            do {
                try outputs[index].consumer.consumePacket(packet)
                index += 1
            } catch {
                let output = outputs.remove(at: index)
                // Its first error is the one to tell; what is written so far is closed as well as it can be.
                try? output.consumer.finish()
                onFailure(Failure(consumer: output.name, error: error))
            }
        }
    }

    private func fail(_ error: any Error, _ work: inout Work) {
        onFailure(Failure(consumer: nil, error: error))
        endAll(&work)
    }

    private func endAll(_ work: inout Work) {
        guard !work.hasFinished else { return }
        work.hasFinished = true
        for output in work.outputs {
            do { try output.consumer.finish() } catch {
                onFailure(Failure(consumer: output.name, error: error))
            }
        }
        work.outputs = []
    }
}
