import VideoCapturing

/// An encoder for one network path: asks for fewer or smaller frames while its bitrate is too low for those that the capture
/// gives; see ``BandwidthAdaptation``. Not to be used from two threads at once, as all encoders.
package final class AdaptiveEncoder: VideoEncoder {
    private let entry: EncoderEntry
    private let request: EncoderEntry.Request
    /// Nil while it is released.
    @exclusivity(unchecked) private var encoder: (any VideoEncoder)?
    @exclusivity(unchecked) package private(set) var bitrate: Int?
    @exclusivity(unchecked) private var isKeyFrameRequested = false
    @exclusivity(unchecked) private var lastKeyFrame: MediaTime?
    @exclusivity(unchecked) private var adaptation: BandwidthAdaptation
    /// The pixels of the largest frame: of one without relief.
    @exclusivity(unchecked) private var fullPixelCount = 0
    @exclusivity(unchecked) package private(set) var wants = CaptureWants()

    /// The encoder of an entry, made for receivers that ask for their key frames and for a bitrate: it makes key frames on
    /// request only, and temporal layers where it can, unless the settings say otherwise.
    ///
    /// - Throws: what making the encoder throws.
    package init(_ entry: EncoderEntry, _ request: EncoderEntry.Request) throws {
        var request = request
        if request.settings.keyFrameInterval == nil {
            request.settings.keyFrameInterval = .time(AdaptiveEncoder.onRequestOnly)
        }
        // Of screens only what has changed is encoded, which refers to the last frame.
        let isScreen = request.contentHint == .detail || request.contentHint == .text
        let hasLayers = entry.options.contains { $0.name == AdaptiveEncoder.layerOption }
        if hasLayers, !isScreen, request.settings.options[AdaptiveEncoder.layerOption] == nil {
            request.settings.options[AdaptiveEncoder.layerOption] = "3"
        }
        let encoder = try entry.makeEncoder(request)
        self.entry = entry
        self.request = request
        self.encoder = encoder
        bitrate = encoder.bitrate
        layerCount = request.settings.options[AdaptiveEncoder.layerOption].flatMap { Int($0) } ?? 1
        adaptation = AdaptiveEncoder.makeAdaptation(bitrate, request)
    }

    private static func makeAdaptation(_ bitrate: Int?, _ request: EncoderEntry.Request) -> BandwidthAdaptation {
        BandwidthAdaptation(
            maximumBitrate: bitrate ?? request.bitrate, frameRate: request.frameRate, contentHint: request.contentHint)
    }

    /// The temporal layers that were asked for.
    package let layerCount: Int

    /// Longer than any session.
    private static let onRequestOnly = Duration.seconds(10_000_000)
    private static let layerOption = "temporal-layers"
    /// The shortest time between key frames that are asked for, however many receivers ask.
    private static let keyFrameInterval = Duration.milliseconds(300)

    package var track: TrackDescription? { encoder?.track }
    package var framesUnchanged: UInt64 { encoder?.framesUnchanged ?? 0 }
    package func takeNotice() -> String? { encoder?.takeNotice() }
    package func requestKeyFrame() { isKeyFrameRequested = true }
    package func flush(output: (MediaPacket) throws -> Void) throws { try encoder?.flush(output: output) }

    package func setBitrate(_ bitrate: Int) throws {
        try encoder?.setBitrate(bitrate)
        self.bitrate = encoder?.bitrate ?? bitrate
    }

    package func release() {
        guard encoder != nil else { return }
        encoder = nil
        wants = CaptureWants()
        adaptation = AdaptiveEncoder.makeAdaptation(bitrate, request)
        fullPixelCount = 0
        lastKeyFrame = nil
    }

    private func makeEncoder() throws -> any VideoEncoder {
        let made = try entry.makeEncoder(request)
        if let bitrate, bitrate != made.bitrate { try made.setBitrate(bitrate) }
        encoder = made
        return made
    }

    package func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        fullPixelCount = max(fullPixelCount, frame.width * frame.height)
        let encoder = try encoder ?? makeEncoder()
        if isKeyFrameRequested, lastKeyFrame.map({ frame.timestamp - $0 >= AdaptiveEncoder.keyFrameInterval }) ?? true {
            isKeyFrameRequested = false
            encoder.requestKeyFrame()
        }
        var bytes = 0
        try encoder.encode(frame) { packet in
            bytes += packet.data.count
            if packet.isKeyFrame {
                lastKeyFrame = packet.timestamp
                isKeyFrameRequested = false
            }
            try output(packet)
        }
        if let bitrate = encoder.bitrate {
            adaptation.update(bitrate: bitrate, bytes: bytes, pixelCount: fullPixelCount, at: frame.timestamp)
        }
        wants = encoder.wants.limited(by: adaptation.wants(pixelCount: fullPixelCount))
    }
}

extension CaptureWants {
    /// What satisfies both, of one consumer.
    fileprivate func limited(by other: CaptureWants) -> CaptureWants {
        func lower<Value: Comparable>(_ first: Value?, _ second: Value?) -> Value? {
            guard let first, let second else { return first ?? second }
            return min(first, second)
        }
        var result = self
        result.maximumPixelCount = lower(maximumPixelCount, other.maximumPixelCount)
        result.maximumFrameRate = lower(maximumFrameRate, other.maximumFrameRate)
        result.sizeAlignment = max(sizeAlignment, other.sizeAlignment)
        // A picture that is still to be refined does not come more often for that.
        if minimumFrameRate != nil { result.minimumFrameRate = lower(minimumFrameRate, result.maximumFrameRate) }
        return result
    }
}
