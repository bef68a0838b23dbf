import VideoCapturing

/// An encoder for one network path: asks for fewer or smaller frames while its bitrate is too low for those that the capture
/// gives; see ``BandwidthAdaptation``. Not to be used from two threads at once, as all encoders.
package final class AdaptiveEncoder: VideoEncoder {
    private let encoder: any VideoEncoder
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
        let layers = AdaptiveEncoder.layerCount(of: entry)
        if layers > 1, !isScreen, request.settings.options[AdaptiveEncoder.layerOption] == nil {
            request.settings.options[AdaptiveEncoder.layerOption] = "\(layers)"
        }
        encoder = try entry.makeEncoder(request)
        adaptation = BandwidthAdaptation(
            maximumBitrate: encoder.bitrate ?? request.bitrate, frameRate: request.frameRate,
            contentHint: request.contentHint)
    }

    /// Longer than any session.
    private static let onRequestOnly = Duration.seconds(10_000_000)
    private static let layerOption = "temporal-layers"

    /// The temporal layers of what an entry makes here, but of screens, where the settings state no number of them.
    package static func layerCount(of entry: EncoderEntry) -> Int {
        entry.options.contains { $0.name == layerOption } ? 3 : 1
    }

    package var track: TrackDescription? { encoder.track }
    package var bitrate: Int? { encoder.bitrate }
    package var framesUnchanged: UInt64 { encoder.framesUnchanged }
    package func takeNotice() -> String? { encoder.takeNotice() }
    package func requestKeyFrame() { encoder.requestKeyFrame() }
    package func setBitrate(_ bitrate: Int) throws { try encoder.setBitrate(bitrate) }
    package func flush(output: (MediaPacket) throws -> Void) throws { try encoder.flush(output: output) }

    package func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        fullPixelCount = max(fullPixelCount, frame.width * frame.height)
        var bytes = 0
        try encoder.encode(frame) { packet in
            bytes += packet.data.count
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
