import CLibYUV
import VideoCapturing

extension Finding {
    /// The version of libyuv, and whether frames convert on this machine.
    package static func pixels() -> Finding {
        do {
            let black = try PixelBuffer.black(.nv12, width: 4, height: 4, color: .bt601)
            let converted = try FrameProcessor(capacity: 1).convert(black, to: .argb)
            let isBlack = converted.withRow(0, ofPlane: 0) { row in
                row.enumerated().allSatisfy { index, value in value == (index % 4 == 0 ? 255 : 0) }
            }
            guard isBlack else { return brokenPixels("black converts to another color") }
            return Finding("libraries", "libyuv", .ok, "\(LIBYUV_VERSION) (built with); frames convert")
        } catch {
            return brokenPixels("\(error)")
        }
    }

    private static func brokenPixels(_ reason: String) -> Finding {
        Finding(
            "libraries", "libyuv", .broken, "\(LIBYUV_VERSION) (built with); frames do not convert: \(reason)",
            remedy: "sudo apt-get install --reinstall libyuv0, and run this again.")
    }
}
