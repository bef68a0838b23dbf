import MJPEGServer
public import MediaPublishing
public import VideoCapturing

extension OutputEntry {
    /// The server of `serve://[ADDRESS:]PORT`, whose page shows WebRTC where it can, and MJPEG elsewhere.
    ///
    /// - Parameter encoder: of VP8 or H.264, for WebRTC.
    public static func liveServer(encoder: EncoderEntry) -> OutputEntry {
        let configuration = WebRTCViewing.Configuration()
        return .mjpegServer(
            options: [
                OptionDescription(
                    "serve-webrtc", .text("N"), "viewers that are shown WebRTC, 0 to 100; further ones see MJPEG",
                    default: "\(configuration.maximumViewers)")
            ],
            viewing: { request throws(OptionError) in
                var configuration = configuration
                if let count = try request.options.count("serve-webrtc", in: 0...100) {
                    guard count > 0 else { return nil }
                    configuration.maximumViewers = count
                }
                return WebRTCViewing(encoder: encoder, configuration: configuration)
            })
    }
}
