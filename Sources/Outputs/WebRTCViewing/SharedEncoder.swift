import FrameProcessing
import MediaPublishing
import RTP
import VideoCapturing
import WebRTCPublisher

/// One encoder for all viewers, on a separate thread. It has the newest frame, and works while there are viewers.
///
/// A viewer whose network is slower than the others' gets the lower temporal layers alone; see ``LayerAllocation``.
///
/// Safe to use from any thread. No lock is held while it encodes or hands packets to viewers.
final class SharedEncoder: Sendable {
    /// A viewer, and what it gets.
    fileprivate struct Receiver {
        let viewer: Viewer
        /// The highest temporal layer.
        var layer: Int
    }

    private struct State {
        var receivers: [Receiver] = []
        var allocation: LayerAllocation
        /// To be encoded; nil while the encoder is up to date.
        var frame: VideoFrame?
        var keyFrames = KeyFrameLimiter()
        var isKeyFrameDue = false
        /// Of one start and its stop: a thread of an earlier one ends, even where a viewer comes meanwhile.
        var run = 0
        var thread: CaptureThread?

        /// Gives the viewers their allocated layers.
        mutating func allocate() {
            for index in receivers.indices {
                receivers[index].layer = allocation.layer(of: receivers[index].viewer.identifier)
            }
        }

        mutating func takeKeyFrameRequest(at now: MediaTime) -> Bool {
            defer { isKeyFrameDue = false }
            return keyFrames.takeDue(at: now) || isKeyFrameDue
        }
    }

    let codec: Codec
    private let entry: EncoderEntry
    private let maximumBitrate: Int
    private let state: Locked<State>
    private let clock = MonotonicClock()

    init(_ entry: EncoderEntry, bitrate: Int) {
        codec = entry.codec
        self.entry = entry
        maximumBitrate = bitrate
        state = Locked(
            State(
                allocation: LayerAllocation(
                    maximumBitrate: bitrate, layerCount: AdaptiveEncoder.layerCount(of: entry))))
    }

    // MARK: Wants

    /// Takes a frame, if there is a viewer.
    func consume(_ frame: VideoFrame) {
        let isWanted = state.withLock { state in
            guard !state.receivers.isEmpty else { return false }
            state.frame = frame
            return true
        }
        if isWanted { state.wakeAll() }
    }

    func setViewers(_ viewers: [Viewer]) {
        state.withLock { state in
            state.receivers = viewers.map { Receiver(viewer: $0, layer: 0) }
            state.allocation.setViewers(viewers.map(\.identifier))
            state.allocate()
            if viewers.isEmpty { state.frame = nil }
        }
        state.wakeAll()
    }

    /// Sets what the way to a viewer can take, in bits per second.
    func setBitrate(_ bitrate: Int, of viewer: String) {
        state.withLock { state in
            state.allocation.setBitrate(bitrate, of: viewer)
            state.allocate()
        }
    }

    /// Makes a key frame, at most three times per second.
    func requestKeyFrame() {
        let now = clock.now
        state.withLock { if $0.keyFrames.request(at: now) { $0.isKeyFrameDue = true } }
    }

    // MARK: Life

    /// Starts the thread, unless it runs.
    func start() throws(CaptureError) {
        try state.withLock { (state) throws(CaptureError) in
            guard state.thread == nil else { return }
            let run = state.run
            state.thread = try CaptureThread(name: "webrtc-viewing") { [weak self] in
                while let self, self.work(run) {}
            }
        }
    }

    /// Ends the thread.
    func stop() {
        let thread = state.withLock { state in
            state.run += 1
            return state.thread.take()
        }
        state.wakeAll()
        thread?.join()
    }

    /// Encodes for as long as there are viewers; on the thread.
    ///
    /// - Returns: false when the thread is to end.
    private func work(_ number: Int) -> Bool {
        let run = Run(entry, maximumBitrate: maximumBitrate)
        while true {
            let deadline = clock.now.advanced(by: .seconds(1))
            let next = state.wait(until: deadline) { state -> Task? in
                if state.run != number { return .stop }
                if state.receivers.isEmpty { return .rest }
                guard let frame = state.frame.take() else { return nil }
                let isKeyFrameWanted = state.takeKeyFrameRequest(at: clock.now)
                return .encode(
                    frame, state.receivers, bitrate: state.allocation.bitrate, isKeyFrameWanted: isKeyFrameWanted)
            }
            switch next {
            case .stop?: return false
            case .rest?: return waitForViewers(number)
            case .encode(let frame, let receivers, let bitrate, let isWanted)?:
                let hasKeyFrame = run.encode(frame, for: receivers, bitrate: bitrate, isKeyFrameWanted: isWanted)
                if hasKeyFrame { state.withLock { $0.keyFrames.didSendKeyFrame() } }
            case nil: continue
            }
        }
    }

    private enum Task {
        case stop
        case rest
        case encode(VideoFrame, [Receiver], bitrate: Int, isKeyFrameWanted: Bool)
    }

    private func waitForViewers(_ number: Int) -> Bool {
        state.wait(until: clock.now.advanced(by: .seconds(1))) { state in
            state.run != number ? false : state.receivers.isEmpty ? nil : true
        } ?? true
    }
}

/// The encoder, from the first viewer to the last. Of one thread.
private final class Run {
    private let entry: EncoderEntry
    private let maximumBitrate: Int
    private let processor = FrameProcessor(capacity: 4)
    private var gate = FrameRateGate()
    private var encoder: AdaptiveEncoder?
    private var bitrate = 0
    private var hasFailed = false
    /// Those that get packets, from the last frame of the base layer on.
    private var receivers: [SharedEncoder.Receiver] = []

    init(_ entry: EncoderEntry, maximumBitrate: Int) {
        self.entry = entry
        self.maximumBitrate = maximumBitrate
    }

    /// - Returns: whether a key frame was made.
    func encode(
        _ frame: VideoFrame, for receivers: [SharedEncoder.Receiver], bitrate: Int, isKeyFrameWanted: Bool
    ) -> Bool {
        guard !hasFailed else { return false }
        do {
            if isKeyFrameWanted { encoder?.requestKeyFrame() }
            guard let frame = try adapt(frame) else { return false }
            let encoder = try encoder ?? makeEncoder(frame)
            self.encoder = encoder
            if bitrate != self.bitrate {
                try encoder.setBitrate(bitrate)
                self.bitrate = bitrate
            }
            var hasKeyFrame = false
            try encoder.encode(frame) { packet in
                hasKeyFrame = hasKeyFrame || packet.isKeyFrame
                // A layer is only resumed at a frame of the base layer.
                if packet.temporalLayer == 0 { self.receivers = receivers }
                for receiver in self.receivers where packet.temporalLayer <= receiver.layer {
                    receiver.viewer.session.write(packet)
                }
            }
            return hasKeyFrame
        } catch {
            // Viewers get nothing more, and their pages show MJPEG.
            hasFailed = true
            for receiver in receivers { receiver.viewer.session.close() }
            return false
        }
    }

    /// The frame as the encoder wants it, upright; nil when it comes too soon.
    private func adapt(_ given: VideoFrame) throws -> VideoFrame? {
        let wants = encoder?.wants ?? CaptureWants()
        gate.limit = wants.maximumFrameRate
        guard gate.admits(given) else { return nil }
        var frame = given
        if let limit = wants.maximumFrameRate, let rate = frame.estimatedFrameRate, rate > limit {
            frame.estimatedFrameRate = limit
        }
        var transform = FrameTransform(
            squaresPixels: true, appliesOrientation: true, pixelFormat: .i420, color: entry.encodedColor)
        let own = frame.displaySize
        let size = wants.adaptedSize(width: own.width, height: own.height)
        if size != (own.width, own.height) { transform.size = PixelSize(width: size.width, height: size.height) }
        return try processor.apply(transform, to: frame)
    }

    private func makeEncoder(_ frame: VideoFrame) throws -> AdaptiveEncoder {
        bitrate = maximumBitrate
        return try AdaptiveEncoder(
            entry,
            EncoderEntry.Request(
                format: VideoFormat(frame.pixelFormat, width: frame.width, height: frame.height),
                frameRate: frame.estimatedFrameRate ?? 30, purpose: .live,
                settings: EncodingSettings(bitrate: maximumBitrate)))
    }
}
