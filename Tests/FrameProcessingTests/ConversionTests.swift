import FrameProcessing
import Testing
import VideoCapturing

@Suite struct ConversionTests {
    let processor = FrameProcessor()

    /// Compares each pixel with the exact formula. Pure rearrangement must be exact; a mean of two rows of
    /// chroma is rounded; libyuv's fixed point and its two-step mean of four are within two codes of the
    /// formula, and our own encoder within one.
    private func check(
        _ source: PixelBuffer, _ color: ColorDescription, to target: PixelFormat, _ wanted: ColorDescription? = nil
    ) throws {
        let frame = VideoFrame(buffer: source, timestamp: .zero, color: color)
        let result = try processor.convert(frame, to: target, color: wanted)
        #expect(result.pixelFormat == target)
        #expect(result.width == source.width && result.height == source.height)
        let (before, after) = (Samples(source), Samples(result.buffer))
        let format = source.pixelFormat
        let tolerance: Double =
            switch (format.isRGB, target.isRGB) {
            case (true, true): 0
            case (false, true): 2
            case (true, false): result.color == .bt601 ? 2 : 1
            case (false, false):
                (result.color != color ? 1 : 0) + ([.yuy2, .uyvy, .nv16].contains(format) ? 0.5 : 0)
            }
        var worst = 0.0
        var alphaIsRight = true
        for y in 0..<source.height {
            for x in 0..<source.width {
                let exact = Reference.convert(before, color, to: target, result.color, at: x, y)
                worst = max(worst, distance(triple(after.pixel(x, y)), exact))
                if let alpha = after.alpha(x, y), alpha != before.alpha(x, y) ?? 255 { alphaIsRight = false }
            }
        }
        #expect(worst <= tolerance, "\(format) to \(target), \(color) to \(result.color)")
        #expect(alphaIsRight, "\(format) to \(target)")
    }

    @Test(arguments: rawFormats, targetFormats)
    func isExactInEveryColor(source: PixelFormat, target: PixelFormat) throws {
        let picture = try noise(source, 21, 19)
        for color in source.isRGB ? [.jpeg] : allColors {
            try check(picture, color, to: target)
            for wanted in allColors { try check(picture, color, to: target, wanted) }
        }
    }

    @Test(arguments: rawFormats, targetFormats)
    func isExactInOddSizes(source: PixelFormat, target: PixelFormat) throws {
        for (width, height) in oddSizes {
            let picture = try noise(source, width, height, seed: UInt64(width))
            try check(picture, anyColor(source), to: target)
        }
        // Across the borders of strips.
        try check(try noise(source, 3, 67), anyColor(source), to: target)
        try check(try noise(source, 3, 67), anyColor(source), to: target, .bt709)
    }

    @Test func isExactAtTheEndsOfRange() throws {
        for target in [PixelFormat.nv12, .i420] {
            for red: UInt8 in [0, 255] {
                for green: UInt8 in [0, 255] {
                    for blue: UInt8 in [0, 255] {
                        let picture = try flat(.argb, 5, 3, (red, green, blue))
                        for color in allColors { try check(picture, .jpeg, to: target, color) }
                    }
                }
            }
        }
    }

    /// The last columns and rows of a large odd picture, where strips and vectors end.
    @Test func isExactAtTheEdgesOfALargePicture() throws {
        for (source, target) in [
            (PixelFormat.nv12, PixelFormat.argb), (.argb, .nv12), (.yuy2, .i420), (.rgb24, .nv12), (.uyvy, .bgra),
        ] {
            let picture = try noise(source, 353, 287)
            let result = try processor.convert(picture, to: target)
            let (before, after) = (Samples(picture), Samples(result))
            let color = anyColor(source)
            let outcome = source.isRGB ? .bt601 : color
            for (x, y) in [(0, 0), (352, 0), (0, 286), (352, 286), (351, 285), (352, 271), (176, 143), (350, 16)] {
                let exact = Reference.convert(before, color, to: target, outcome, at: x, y)
                #expect(distance(triple(after.pixel(x, y)), exact) <= 2, "\(source) to \(target) at \(x), \(y)")
            }
        }
    }

    @Test(arguments: rawFormats) func sameFormatIsTheSameBuffer(format: PixelFormat) throws {
        let picture = try noise(format, 7, 5)
        #expect(try processor.convert(picture, to: format) === picture)
        let frame = VideoFrame(buffer: picture, timestamp: .zero)
        #expect(try processor.apply(FrameTransform(), to: frame).buffer === picture)
    }

    @Test(arguments: [PixelFormat.yuy2, .uyvy, .nv16, .mjpeg]) func refusesWhatCannotBeMade(target: PixelFormat) throws
    {
        let picture = try noise(.nv12, 4, 4)
        #expect {
            try processor.convert(picture, to: target)
        } throws: {
            ($0 as? CaptureError)?.code == .formatUnsupported
        }
    }

    @Test func keepsWhatIsKnownOfAFrame() throws {
        let frame = VideoFrame(
            buffer: try noise(.argb, 8, 8), timestamp: MediaTime(nanoseconds: 77), sequenceNumber: 9,
            orientation: .left, isMirrored: true, color: ColorDescription(matrix: .bt709, range: .full),
            estimatedFrameRate: 25, estimatedCaptureDelay: .milliseconds(3),
            damage: [PixelRect(x: 3, y: 3, width: 2, height: 1)], metadata: FrameAttributes.Metadata([1, 2]),
            isRepeat: true)
        let result = try processor.convert(frame, to: .nv12)
        #expect(result.timestamp == frame.timestamp && result.sequenceNumber == 9)
        #expect(result.orientation == .left && result.isMirrored && result.isRepeat)
        #expect(result.color == .bt709)
        #expect(result.estimatedFrameRate == 25 && result.estimatedCaptureDelay == .milliseconds(3))
        #expect(result.metadata == frame.metadata)
        let damage = try #require(result.damage?.first)
        #expect(damage.x <= 2 && damage.y <= 2 && damage.x + damage.width >= 6 && damage.y + damage.height >= 4)
    }

    @Test func reusesItsMemory() throws {
        let picture = try noise(.nv12, 64, 48)
        let first = ObjectIdentifier(try processor.convert(picture, to: .i420))
        for _ in 0..<5 { #expect(ObjectIdentifier(try processor.convert(picture, to: .i420)) == first) }
    }

    @Test func readsForeignStrides() throws {
        // Rows that are as far apart as no vector would like.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 31 * 5, alignment: 1)
        defer { memory.deallocate() }
        for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: index &* 73) }
        for format in [PixelFormat.argb, .rgba] {
            let wrapped = try PixelBuffer(
                wrapping: [PixelBuffer.PlaneMemory(base: memory.baseAddress!, byteCount: 31 * 5, bytesPerRow: 31)],
                as: format,
                width: 7, height: 5, release: {})
            try check(wrapped, .jpeg, to: .nv12)
            let turned = Samples(try processor.turn(wrapped, clockwise: .left))
            let before = Samples(wrapped)
            for y in 0..<7 { for x in 0..<5 { #expect(turned.pixel(x, y) == before.pixel(y, 4 - x)) } }
        }
    }
}
