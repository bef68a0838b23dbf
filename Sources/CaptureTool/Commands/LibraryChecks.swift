import CLibVPX
import CLibYUV
import FrameProcessing
import MediaContainers
import VP8Codec
import VideoCapturing

/// The libraries that the tool is linked with: their versions, and whether they work on this machine.
enum LibraryChecks {
    static func run() -> [Finding] {
        [swift, vpx, yuv, v4l2]
    }

    private static var swift: Finding {
        #if compiler(>=6.4)
            let version = "6.4 or later"
        #elseif compiler(>=6.3)
            let version = "6.3"
        #elseif compiler(>=6.2)
            let version = "6.2"
        #else
            let version = "6.1 or earlier"
        #endif
        return Finding("libraries", "Swift", .ok, "\(version) (built with)")
    }

    private static var vpx: Finding {
        let version = String(cString: vpx_codec_version_str())
        do {
            let bytes = try encodedBytes()
            return Finding("libraries", "libvpx", .ok, "\(version); VP8 encodes and decodes (\(bytes) bytes)")
        } catch {
            return Finding(
                "libraries", "libvpx", .broken, "\(version); VP8 does not work: \(error)",
                remedy: "sudo apt-get install --reinstall libvpx7, and run this again.")
        }
    }

    /// Encodes a small frame and decodes it again.
    ///
    /// - Returns: the number of encoded bytes.
    private static func encodedBytes() throws -> Int {
        let buffer = try PixelBuffer.black(.nv12, width: 64, height: 48, color: .bt601)
        let encoder = try VP8Encoder(VP8EncoderConfiguration(bitrate: 100_000))
        let decoder = try VP8Decoder()
        var bytes = 0
        var frames = 0
        try encoder.encode(VideoFrame(buffer: buffer, timestamp: MonotonicClock().now)) { packet in
            bytes += packet.data.count
            try packet.data.withUnsafeBytes { data in try decoder.decode(data) { _ in frames += 1 } }
        }
        guard frames == 1 else {
            throw CodecError(
                .library, operation: "encode a frame", subject: "VP8", message: "One frame was decoded as \(frames).")
        }
        return bytes
    }

    private static var yuv: Finding {
        do {
            let black = try PixelBuffer.black(.nv12, width: 4, height: 4, color: .bt601)
            let converted = try FrameProcessor(capacity: 1).convert(black, to: .argb)
            let isBlack = converted.withRow(0, ofPlane: 0) { row in row.elementsEqual([255, 0, 0, 0].repeated(4)) }
            guard isBlack else { return brokenYUV("black converts to another color") }
            return Finding("libraries", "libyuv", .ok, "\(LIBYUV_VERSION) (built with); frames convert")
        } catch {
            return brokenYUV("\(error)")
        }
    }

    /// Without it the tool would not have started. It has no version function, and cannot be tested without a device.
    private static var v4l2: Finding { Finding("libraries", "libv4l2", .ok, "present") }

    private static func brokenYUV(_ reason: String) -> Finding {
        Finding(
            "libraries", "libyuv", .broken, "\(LIBYUV_VERSION) (built with); frames do not convert: \(reason)",
            remedy: "sudo apt-get install --reinstall libyuv0, and run this again.")
    }
}

extension [UInt8] {
    fileprivate func repeated(_ count: Int) -> [UInt8] { (0..<count).flatMap { _ in self } }
}
