import FrameProcessing
import RTP
import VideoCapturing
import WebRTCPublisher

/// One encoder for all viewers, on a thread of its own, which has the newest frame and works while there are viewers.
///
/// Safe to use from any thread. No lock is held while it encodes or hands packets to viewers.
final class SharedEncoder: Sendable {
    private struct State {
        var viewers: [Viewer] = []
        /// What the way to each viewer can take.
        var bitrates: [String: Int] = [:]
        /// To be encoded; nil while the encoder is up to date.
        var frame: VideoFrame?
        var keyFrames = KeyFrameLimiter()
        var isKeyFrameDue = false
        var isStopping = false
        var thread: CaptureThread?

        mutating func takeKeyFrameRequest(at now: MediaTime) -> Bool {
            defer { isKeyFrameDue = false }
            return keyFrames.takeDue(at: now) || isKeyFrameDue
        }
    }

    let codec: Codec
    private let entry: EncoderEntry
    private let maximumBitrate: Int
    private let state = Locked(State())
    private let clock = MonotonicClock()

    init(_ entry: EncoderEntry, bitrate: Int) {
        codec = entry.codec
        self.entry = entry
        maximumBitrate = bitrate
    }

    // MARK: What is wanted

    /// Takes a frame, if there is a viewer.
    func consume(_ frame: VideoFrame) {
        let isWanted = state.withLock { state in
            guard !state.viewers.isEmpty else { return false }
            state.frame = frame
            return true
        }
        if isWanted { state.wakeAll() }
    }

    func setViewers(_ viewers: [Viewer]) {
        state.withLock { state in
            state.viewers = viewers
            let names = Set(viewers.map(\.identifier))
            state.bitrates = state.bitrates.filter { names.contains($0.key) }
            if viewers.isEmpty { state.frame = nil }
        }
        state.wakeAll()
    }

    func setBitrate(_ bitrate: Int, of viewer: String) { state.withLock { $0.bitrates[viewer] = bitrate } }

    /// Makes a key frame, at most three times per second.
    func requestKeyFrame() {
        let now = clock.now
        state.withLock { if $0.keyFrames.request(at: now) { $0.isKeyFrameDue = true } }
    }

    // MARK: Life

    /// Starts the thread, unless it runs.
    func start() throws(CaptureError) {
        try state.withLock { (state) throws(CaptureError) in
            state.isStopping = false
            guard state.thread == nil else { return }
            state.thread = try CaptureThread(name: "webrtc-viewing") { [weak self] in
                while let self, self.work() {}
            }
        }
    }

    /// Ends the thread.
    func stop() {
        let thread = state.withLock { state in
            state.isStopping = true
            return state.thread.take()
        }
        state.wakeAll()
        thread?.join()
    }

    /// Encodes for as long as there are viewers; on the thread.
    ///
    /// - Returns: false when the thread is to end.
    private func work() -> Bool {
        let run = Run(entry, maximumBitrate: maximumBitrate)
        while true {
            let deadline = clock.now.advanced(by: .seconds(1))
            let next = state.wait(until: deadline) { state -> Task? in
                if state.isStopping { return .stop }
                if state.viewers.isEmpty { return .rest }
                guard let frame = state.frame.take() else { return nil }
                let isKeyFrameWanted = state.takeKeyFrameRequest(at: clock.now)
                let bitrate = state.viewers.reduce(maximumBitrate) { min($0, state.bitrates[$1.identifier] ?? $0) }
                return .encode(frame, state.viewers, bitrate: bitrate, isKeyFrameWanted: isKeyFrameWanted)
            }
            switch next {
            case .stop?: return false
            case .rest?: return waitForViewers()
            case .encode(let frame, let viewers, let bitrate, let isKeyFrameWanted)?:
                let hasKeyFrame = run.encode(frame, for: viewers, bitrate: bitrate, isKeyFrameWanted: isKeyFrameWanted)
                if hasKeyFrame { state.withLock { $0.keyFrames.didSendKeyFrame() } }
            case nil: continue
            }
        }
    }

    private enum Task {
        case stop
        case rest
        case encode(VideoFrame, [Viewer], bitrate: Int, isKeyFrameWanted: Bool)
    }

    private func waitForViewers() -> Bool {
        state.wait(until: clock.now.advanced(by: .seconds(1))) { state in
            state.isStopping ? false : state.viewers.isEmpty ? nil : true
        } ?? true
    }
}

/// The encoder, from the first viewer to the last. Of one thread.
private final class Run {
    private let entry: EncoderEntry
    private let maximumBitrate: Int
    private let processor = FrameProcessor(capacity: 4)
    private let transform = FrameTransform(appliesOrientation: true, pixelFormat: .i420)
    private var encoder: (any VideoEncoder)?
    private var bitrate = 0
    private var hasFailed = false

    init(_ entry: EncoderEntry, maximumBitrate: Int) {
        self.entry = entry
        self.maximumBitrate = maximumBitrate
    }

    /// - Returns: whether a key frame was made.
    func encode(_ frame: VideoFrame, for viewers: [Viewer], bitrate: Int, isKeyFrameWanted: Bool) -> Bool {
        guard !hasFailed else { return false }
        do {
            let frame = try processor.apply(transform, to: frame)
            let encoder = try encoder ?? makeEncoder(frame)
            self.encoder = encoder
            if bitrate != self.bitrate {
                try encoder.setBitrate(bitrate)
                self.bitrate = bitrate
            }
            if isKeyFrameWanted { encoder.requestKeyFrame() }
            var hasKeyFrame = false
            try encoder.encode(frame) { packet in
                hasKeyFrame = hasKeyFrame || packet.isKeyFrame
                for viewer in viewers { viewer.session.write(packet) }
            }
            return hasKeyFrame
        } catch {
            // Viewers get nothing more, and their pages show MJPEG.
            hasFailed = true
            for viewer in viewers { viewer.session.close() }
            return false
        }
    }

    private func makeEncoder(_ frame: VideoFrame) throws -> any VideoEncoder {
        bitrate = maximumBitrate
        return try entry.makeEncoder(
            EncoderEntry.Request(
                format: VideoFormat(frame.pixelFormat, width: frame.width, height: frame.height),
                frameRate: frame.estimatedFrameRate ?? 30, purpose: .live,
                settings: EncodingSettings(bitrate: maximumBitrate)))
    }
}
