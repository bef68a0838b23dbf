import MediaPublishing
import Testing
import VideoCapturing

/// What encoders get of pictures in another color, or with pixels that are not square.
@Suite struct PictureTests {
    /// Keeps the frames that it is given.
    private final class ProbeEncoder: VideoEncoder {
        private let frames: Locked<[VideoFrame]>
        private let codec: Codec
        private(set) var track: TrackDescription?

        init(_ codec: Codec, _ frames: Locked<[VideoFrame]>) {
            self.codec = codec
            self.frames = frames
        }

        func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
            frames.withLock { $0.append(frame) }
            frames.wakeAll()
            track = TrackDescription(
                id: 0, codec: codec, media: .video(.init(width: frame.width, height: frame.height)))
            try output(
                MediaPacket(
                    data: [UInt8(1)].withUnsafeBytes { PacketBuffer(copying: $0) }, timestamp: frame.timestamp,
                    duration: .zero, isKeyFrame: true, width: frame.width, height: frame.height,
                    sequenceNumber: frame.sequenceNumber, attributes: frame.attributes))
        }

        func requestKeyFrame() {}
        func setBitrate(_ bitrate: Int) {}
    }

    /// The first frame that an encoder gets for an output, and how many encoders there are for it and one more output.
    private func encoded(
        _ codec: Codec, _ given: VideoFrame, aspectOf codecs: [Codec] = [],
        _ settings: MediaPublisher.FrameSettings = .init()
    ) throws -> VideoFrame {
        let frames = Locked<[VideoFrame]>([])
        let entry = EncoderEntry(name: "probe", codec: codec, summary: "") { _ in ProbeEncoder(codec, frames) }
        let capture = PushCapturer(format: given.format)
        let publisher = MediaPublisher(video: capture, settings: .init(encoders: [entry]))
        defer { publisher.close() }
        try publisher.add(
            ProbeOutput(ProbeSink(), .init(codecs: [codec], pixelAspectCodecs: codecs)), frames: settings)
        try publisher.start()
        capture.push(given)
        return try #require(frames.wait(until: RunLog.limit) { $0.first })
    }

    private static let colors = ColorDescription.Matrix.allCases.flatMap { matrix in
        [ColorDescription.Range.limited, .full].map { ColorDescription(matrix: matrix, range: $0) }
    }

    /// Luma and chroma of a saturated red, in each color that 4:2:0 may have.
    private func red(_ color: ColorDescription, _ format: PixelFormat = .i420) throws -> VideoFrame {
        let (red, blue) = color.matrix == .bt601 ? (0.299, 0.114) : (0.2126, 0.0722)
        let isFull = color.range == .full
        let y = red * (isFull ? 255 : 219) + (isFull ? 0 : 16)
        let u = 128 - red / (2 * (1 - blue)) * (isFull ? 255 : 224)
        let v = min(255, 128 + 0.5 * (isFull ? 255 : 224))
        let buffer = try PixelBuffer.make(format, width: 32, height: 16) { pixels in
            pixels.fill(plane: 0, with: UInt8(y.rounded()))
            if format == .nv12 {
                pixels.fill(plane: 1) { x, _ in UInt8((x % 2 == 0 ? u : v).rounded()) }
            } else {
                pixels.fill(plane: 1, with: UInt8(u.rounded()))
                pixels.fill(plane: 2, with: UInt8(v.rounded()))
            }
        }
        return VideoFrame(buffer: buffer, timestamp: MonotonicClock().now, color: color)
    }

    /// Decoders of VP8 know one color; H.264 states its own.
    @Test(arguments: colors, [PixelFormat.i420, .nv12])
    func vp8HasTheColorThatDecodersAssume(_ color: ColorDescription, _ format: PixelFormat) throws {
        let given = try red(color, format)
        let frame = try encoded(.vp8, given)
        #expect(frame.color == .bt601)
        let wanted = try red(.bt601)
        for plane in 0..<given.buffer.planes.count {
            let value = frame.buffer.withRow(3, ofPlane: plane) { Int($0[2]) }
            let exact = wanted.buffer.withRow(3, ofPlane: plane) { Int($0[1]) }
            #expect(abs(value - exact) <= 1, "plane \(plane)")
        }
        // A frame of the right color is not copied.
        #expect((frame.buffer === given.buffer) == (color == .bt601))
        let other = try encoded(.h264, given)
        #expect(other.color == color && other.buffer === given.buffer)
    }

    @Test func pixelsAreSquareWhereNothingStatesTheirShape() throws {
        var given = try red(.bt601)
        given.pixelAspect = try #require(PixelAspect(width: 3, height: 2))
        let carried = try encoded(.vp8, given, aspectOf: [.vp8])
        #expect(carried.buffer === given.buffer && carried.pixelAspect == given.pixelAspect)
        let square = try encoded(.vp8, given)
        #expect((square.width, square.height) == (48, 16) && square.pixelAspect == .square)
        let half = try encoded(.vp8, given, aspectOf: [.vp8], .init(size: .percent(50)))
        #expect((half.width, half.height) == (24, 8) && half.pixelAspect == .square)
    }

    /// A size is one of square pixels, however the picture gets into it.
    @Test(arguments: MediaPublisher.FrameSettings.Fit.allCases)
    func aSizeIsOfSquarePixels(_ fit: MediaPublisher.FrameSettings.Fit) throws {
        var given = try red(.bt601)
        given.pixelAspect = try #require(PixelAspect(width: 1, height: 2))
        // A square of 16x16 if they were square; so there are bars of 8 at two sides, or two are cut off.
        let frame = try encoded(
            .vp8, given, aspectOf: [.vp8], .init(size: .init(width: 64, height: 32), fit: fit))
        #expect((frame.width, frame.height) == (64, 32) && frame.pixelAspect == .square)
        let bright = frame.buffer.withRow(16, ofPlane: 0) { $0.count { $0 > 40 } }
        #expect(bright == (fit == .pad ? 32 : 64))
    }
}
