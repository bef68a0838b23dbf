/// The kinds of file that are opened: what holds its own pictures. Playlists, descriptions of other files, devices
/// and drawings with links are not among them.
enum AllowedFormats {
    /// Whether a demuxer may be used; its name may be a list, as in `mov,mp4,m4a,3gp,3g2,mj2`.
    static func contain(_ name: String) -> Bool { name.split(separator: ",").contains { names.contains(String($0)) } }

    /// Where a seek by the library ends at a key frame at or before the wanted time, from its index.
    static func haveIndex(_ name: String) -> Bool {
        name.split(separator: ",").contains { ["mov", "matroska", "avi", "nut", "mxf"].contains($0) }
    }

    /// As the library's option wants them.
    static let list = names.sorted().joined(separator: ",")

    private static let names: Set<String> = [
        // Video.
        "apng", "asf", "av1", "avi", "dv", "flv", "gif", "h264", "hevc", "ivf", "live_flv", "m4v", "matroska", "mjpeg",
        "mjpeg_2000", "mov", "mp4", "mpeg", "mpegts", "mpegvideo", "mpjpeg", "mxf", "nut", "obu", "ogg", "vc1", "webm",
        "yuv4mpegpipe",
        // Pictures.
        "bmp_pipe", "dds_pipe", "dpx_pipe", "exr_pipe", "gif_pipe", "j2k_pipe", "jpeg_pipe", "jpegls_pipe",
        "jpegxl_pipe", "pam_pipe", "pbm_pipe", "pcx_pipe", "pfm_pipe", "pgm_pipe", "pgmyuv_pipe", "png_pipe",
        "ppm_pipe", "psd_pipe", "qoi_pipe", "sgi_pipe", "sunrast_pipe", "tiff_pipe", "webp_pipe", "xbm_pipe",
        "xpm_pipe", "xwd_pipe",
        // Sound, so that it can be said that there are no pictures.
        "aac", "ac3", "aiff", "amr", "ape", "au", "caf", "flac", "mp3", "w64", "wav", "wv",
    ]
}
