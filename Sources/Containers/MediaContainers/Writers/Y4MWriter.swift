import VideoCapturing

/// Writes YUV4MPEG2 (`.y4m`), which most video tools read: one line of header, then I420 frames, each after
/// a line `FRAME`. Accepts only I420.
///
/// The format has one frame rate and no timestamps, and each frame is written once. For irregular frames use a
/// ``ConstantRateWriter`` in front.
public final class Y4MWriter: FrameWriter {
    private let file: OutputFile
    private let rate: FrameRate
    private let state = Locked(State())

    private struct State {
        var shape = FrameShape(.i420)
        var header = ByteBuilder(capacity: 128)
    }

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - file: the output, which `finish` closes.
    ///   - rate: the exact rate for the header.
    public init(_ file: OutputFile, rate: FrameRate) {
        self.file = file
        self.rate = rate
    }

    public var bytesWritten: Int64 { file.bytesWritten }

    public func writeFrame(_ frame: VideoFrame) throws {
        try state.withLock { state in
            let isFirst = !state.shape.isSet
            try state.shape.check(frame, path: file.path)
            if isFirst {
                appendHeader(to: &state.header, frame)
                try file.write(state.header)
            }
            state.header.removeAll()
            state.header.append(text: "FRAME\n")
            try file.write(state.header)
            try file.writePixels(of: frame.buffer)
            try file.endRecord()
        }
    }

    public func finish() throws { try file.close() }

    /// `C420jpeg` states that chroma is sited in the center of its four pixels, as it is after averaging two by two
    /// pixels, which is how frames become I420 here; cameras do not state it, and FFmpeg writes the same. `C420mpeg2`
    /// would state the left edge, as in broadcast video.
    private func appendHeader(to header: inout ByteBuilder, _ frame: VideoFrame) {
        header.append(text: "YUV4MPEG2 W\(frame.width) H\(frame.height) F\(rate.frames):\(rate.seconds) Ip")
        header.append(text: " A\(frame.pixelAspect)")
        header.append(text: " C420jpeg XYSCSS=420JPEG XCOLORRANGE=")
        header.append(text: frame.color.range == .full ? "FULL\n" : "LIMITED\n")
    }
}
