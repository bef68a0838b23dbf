import CLibAV
import MediaContainers

/// Determines the format by the first bytes of a file, without consuming them. The name is ignored.
enum InputProbe {
    /// The demuxer for the file; nil when its format is unknown.
    ///
    /// Begins with few bytes, since a pipe may deliver more of them only later.
    static func demuxer(for file: InputFile) throws(MediaFileError) -> UnsafePointer<AVInputFormat>? {
        var size = 2048
        while true {
            let isLast = size >= largest
            let (found, score, count) = try file.peek(size, probe(_:))
            if let found, score > certain || isLast || count < size { return found }
            if isLast || count < size { return nil }
            size *= 2
        }
    }

    static func name(of demuxer: UnsafePointer<AVInputFormat>) -> String { String(cString: demuxer.pointee.name) }

    private static let largest = 64 * 1024
    /// The threshold of the library: a quarter of the maximum score.
    private static let certain: Int32 = 25

    private static func probe(_ bytes: UnsafeRawBufferPointer) -> (UnsafePointer<AVInputFormat>?, Int32, Int) {
        guard !bytes.isEmpty else { return (nil, 0, 0) }
        // The library reads beyond the bytes, and requires zeros there.
        let padded = UnsafeMutableRawBufferPointer.allocate(
            byteCount: bytes.count + Int(AVPROBE_PADDING_SIZE), alignment: 16)
        defer { padded.deallocate() }
        padded.initializeMemory(as: UInt8.self, repeating: 0)
        padded.copyMemory(from: bytes)
        var score: Int32 = 0
        let found = "".withCString { name in
            var data = AVProbeData(
                filename: name, buf: padded.baseAddress?.assumingMemoryBound(to: UInt8.self),
                buf_size: Int32(bytes.count), mime_type: nil)
            return av_probe_input_format3(&data, 1, &score)
        }
        return (found, score, bytes.count)
    }
}

/// The allowed formats: those that contain their frames. Playlists, descriptions of other files, devices and drawings
/// with links are not among them.
enum AllowedFormats {
    /// Whether a demuxer may be used; its name may be a list, as in `mov,mp4,m4a,3gp,3g2,mj2`.
    static func contain(_ name: String) -> Bool { name.split(separator: ",").contains { names.contains(String($0)) } }

    /// Whether a seek by the library uses an index, and so ends at a key frame at or before the requested time.
    static func haveIndex(_ name: String) -> Bool {
        name.split(separator: ",").contains { ["mov", "matroska", "avi", "nut", "mxf"].contains($0) }
    }

    /// Whether each frame's length is in the file. Of others the library estimates it.
    static func stateLengths(_ name: String) -> Bool {
        name.split(separator: ",").contains { ["mov", "gif", "apng"].contains($0) }
    }

    /// The largest step of the times that is a pause; nil for any. Receivers of transport streams write what arrives, and its
    /// sender may begin again.
    static func largestStep(_ name: String) -> Duration? { ["mpegts", "mpeg"].contains(name) ? .seconds(10) : nil }

    /// The list for the library's option.
    static let list = names.sorted().joined(separator: ",")

    private static let names: Set<String> = [
        // Video.
        "apng", "asf", "av1", "avi", "dv", "flv", "gif", "h264", "hevc", "ivf", "live_flv", "m4v", "matroska", "mjpeg",
        "mjpeg_2000", "mov", "mp4", "mpeg", "mpegts", "mpegvideo", "mpjpeg", "mxf", "nut", "obu", "ogg", "vc1", "webm",
        "yuv4mpegpipe",
        // Images.
        "bmp_pipe", "dds_pipe", "dpx_pipe", "exr_pipe", "gif_pipe", "j2k_pipe", "jpeg_pipe", "jpegls_pipe",
        "jpegxl_pipe", "pam_pipe", "pbm_pipe", "pcx_pipe", "pfm_pipe", "pgm_pipe", "pgmyuv_pipe", "png_pipe",
        "ppm_pipe", "psd_pipe", "qoi_pipe", "sgi_pipe", "sunrast_pipe", "tiff_pipe", "webp_pipe", "xbm_pipe",
        "xpm_pipe", "xwd_pipe",
        // Audio, to report that there is no video.
        "aac", "ac3", "aiff", "amr", "ape", "au", "caf", "flac", "mp3", "w64", "wav", "wv",
    ]
}
