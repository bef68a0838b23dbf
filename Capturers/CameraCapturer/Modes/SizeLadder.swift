import VideoCapturing

/// Sizes to try where a driver takes any, or does not say which.
enum SizeLadder {
    /// The usual sizes of the aspects 16:9 and 4:3.
    static let common: [PixelSize] = [
        (320, 180), (640, 360), (960, 540), (1280, 720), (1600, 900), (1920, 1080), (2560, 1440), (3840, 2160),
        (160, 120), (320, 240), (640, 480), (800, 600), (1024, 768), (1280, 960), (1600, 1200), (2048, 1536),
        (2592, 1944), (3264, 2448),
    ].map { PixelSize(width: $0.0, height: $0.1) }

    /// What is worth a thought of a range: the desired size, the ladder, the smallest and the largest; each snapped to
    /// the range's steps.
    static func sizes(in range: FrameSizeRange, near desired: PixelSize) -> [PixelSize] {
        let rungs = [desired] + common.filter(range.encloses)
        return rungs.compactMap(range.snapped) + [range.smallest, range.largest].compactMap { $0 }
    }
}
