/// A byte stream of H.264 (ITU-T H.264, annex B) that ffmpeg makes with libx264: numbered, moving pictures without B frames.
///
/// - Parameters:
///   - frames: the number of pictures.
///   - size: as in `320x240`.
///   - keyFrameInterval: the pictures from one IDR picture to the next.
///   - options: of libx264, as in `aud=1:slices=4`.
///   - filter: of ffmpeg, for the bytes.
package func h264Clip(
    frames: Int, size: String = "160x120", keyFrameInterval: Int = 15, options: String = "repeat-headers=1",
    filter: String = "null"
) throws -> [UInt8] {
    try run(
        "ffmpeg",
        [
            "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30", "-frames:v", "\(frames)", "-pix_fmt",
            "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-threads", "1", "-bf", "0",
            "-g", "\(keyFrameInterval)", "-x264-params", "scenecut=0:\(options)", "-bsf:v", filter, "-f", "h264", "-",
        ])
}
