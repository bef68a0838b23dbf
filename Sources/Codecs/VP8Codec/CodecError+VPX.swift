import CLibVPX
import VideoCapturing

extension CodecError {
    /// An error of libvpx, in its own words.
    ///
    /// - Parameter context: where libvpx keeps the details; nil before there is one.
    init(vpx result: vpx_codec_err_t, context: UnsafeMutablePointer<vpx_codec_ctx_t>?, operation: String) {
        var message = String(cString: vpx_codec_err_to_string(result))
        if let detail = context.flatMap({ vpx_codec_error_detail($0) }) { message += ": " + String(cString: detail) }
        let code: Code =
            switch result {
            case VPX_CODEC_MEM_ERROR: .outOfMemory
            case VPX_CODEC_INVALID_PARAM: .invalidConfiguration
            case VPX_CODEC_CORRUPT_FRAME, VPX_CODEC_UNSUP_BITSTREAM, VPX_CODEC_UNSUP_FEATURE: .corruptData
            default: .library
            }
        self.init(
            code, operation: operation, subject: "VP8", libraryCode: Int32(bitPattern: result.rawValue),
            message: "\(message).")
    }
}
