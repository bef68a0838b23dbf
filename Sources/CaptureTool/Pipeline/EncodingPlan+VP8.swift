import VP8Codec
import VideoCapturing

extension EncodingPlan {
    /// The encoder's settings for pictures of a format.
    func configuration(for format: VideoFormat, rate: FrameRate, hint: VideoContentHint) -> VP8EncoderConfiguration {
        let suggested = VP8EncoderConfiguration.suggestedBitrate(
            width: format.imageWidth, height: format.imageHeight, frameRate: rate)
        var configuration = VP8EncoderConfiguration(bitrate: bitrate ?? suggested, contentHint: hint, purpose: .file)
        configuration.frameRate = rate
        configuration.threads = threads
        if let keyFrameInterval { configuration.keyFrameInterval = keyFrameInterval.duration(at: rate) }
        return configuration
    }
}
