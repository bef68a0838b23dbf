import VideoCapturing

/// Frames whose pixels are never written: all that they cost is the runtime's.
struct BlankSource: FrameSource {
    let settings: CaptureSettings

    init(width: Int, height: Int) {
        settings = CaptureSettings(format: .nv12(width: width, height: height), sourceName: "blank")
    }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        try context.makeFrame(
            .nv12, width: settings.format.imageWidth, height: settings.format.imageHeight
        ) { _ in }
    }
}
