/// The properties of an encoder of libavcodec: the options against delay, and the work that it leaves to others.
///
/// For hardware encoders they follow the encoders' source; they were not tested on a device.
struct EncoderTraits {
    /// Options without which it holds frames back, or makes false key frames.
    var options: [String: String] = [:]
    /// Whether another bitrate in the open context has an effect. Otherwise it is opened again, which gives a key frame.
    var changesBitrate = false
    /// Whether it takes frames in the memory of the VA-API only.
    var takesVASurfaces = false
    /// The largest distance of key frames that it can be given; they are requested one by one.
    var longestGroup: Int32 = 16_384
    /// The units of time in a second.
    var timeScale: Int32 = 1_000_000
    /// The requirements of a machine, for when it cannot be opened.
    var need = "Choose another encoder."

    init(encoder: String) {
        switch encoder {
        case "libx264", "libx264rgb":
            // Without forced-idr a requested key frame may be an intra frame that decoding cannot begin with.
            options = ["preset": "superfast", "tune": "zerolatency", "forced-idr": "1", "sc_threshold": "0"]
            changesBitrate = true
            longestGroup = 1 << 30
        case "libx265":
            options = [
                "preset": "ultrafast", "tune": "zerolatency", "forced-idr": "1",
                "x265-params": "repeat-headers=1:log-level=none:scenecut=0",
            ]
        case "libvpx", "libvpx-vp9":
            options = ["deadline": "realtime", "cpu-used": encoder == "libvpx" ? "-6" : "7", "lag-in-frames": "0"]
        // Its standard has 16 bits for this.
        case "mpeg4", "libxvid": timeScale = 50_000
        case "libaom-av1": options = ["usage": "realtime", "cpu-used": "8", "lag-in-frames": "0"]
        case _ where encoder.hasSuffix("_nvenc"):
            // Its own delay is unlimited unless set.
            options = ["zerolatency": "1", "delay": "0", "forced-idr": "1", "rc": "cbr"]
            changesBitrate = true
            need = "It needs an NVIDIA card and its driver (libcuda.so.1, libnvidia-encode.so.1)."
        case _ where encoder.hasSuffix("_vaapi"):
            options = ["async_depth": "1", "idr_interval": "0"]
            takesVASurfaces = true
            need = "It needs a graphics card with a VA-API driver; `vainfo` says what there is."
        case _ where encoder.hasSuffix("_qsv"):
            options = ["async_depth": "1", "forced_idr": "1", "look_ahead": "0"]
            need = "It needs an Intel graphics card and Intel's media runtime."
        case _ where encoder.hasSuffix("_v4l2m2m"):
            need = "It needs an encoder as a V4L2 device that the user may open, such as a Raspberry Pi 4 has."
        case _ where encoder.hasSuffix("_omx"):
            need = "It needs OpenMAX libraries, which only old systems have."
        default: break
        }
    }
}
