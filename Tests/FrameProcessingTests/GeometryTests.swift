import FrameProcessing
import Testing
import VideoCapturing

private let geometric: [PixelFormat] = [.i420, .yv12, .nv12, .nv21, .argb, .bgra, .abgr, .rgba]

@Suite struct ScaleTests {
    let processor = FrameProcessor()

    @Test(arguments: geometric, FrameTransform.Filter.allCases)
    func flatColorStaysFlat(format: PixelFormat, filter: FrameTransform.Filter) throws {
        for (width, height) in oddSizes {
            let picture = try flat(format, width, height, (200, 31, 77))
            for (newWidth, newHeight) in [
                (1, 1), (2, 3), (17, 9), (width * 2 + 1, height * 2 - 1), (width, height + 1),
            ] {
                let result = try processor.scale(picture, width: newWidth, height: newHeight, filter: filter)
                #expect(result.width == newWidth && result.height == newHeight && result.pixelFormat == format)
                // Off by the rounding that `FrameTransform.Filter` tells of, and by nothing when nothing is mixed.
                let tolerance: Double = filter == .none ? 0 : format.isRGB ? 2 : newWidth * newHeight == 1 ? 3 : 1
                let samples = Samples(result)
                var worst = 0.0
                for y in 0..<newHeight {
                    for x in 0..<newWidth { worst = max(worst, distance(triple(samples.pixel(x, y)), (200, 31, 77))) }
                }
                #expect(worst <= tolerance, "\(width)x\(height) to \(newWidth)x\(newHeight)")
            }
        }
    }

    @Test(arguments: geometric) func factorOneIsIdentity(format: PixelFormat) throws {
        let picture = try noise(format, 33, 7)
        #expect(try processor.scale(picture, width: 33, height: 7) === picture)
    }

    /// The mean of four: in luma rounded, in RGB rounded up twice, as the mean of means of two.
    @Test(arguments: geometric) func boxHalvesToTheMean(format: PixelFormat) throws {
        let picture = try noise(format, 36, 12)
        let (before, after) = (Samples(picture), Samples(try processor.scale(picture, width: 18, height: 6)))
        for y in 0..<6 {
            for x in 0..<18 {
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map { before.pixel(x * 2 + $0.0, y * 2 + $0.1) }
                let first: Double = four.reduce(0) { $0 + Double($1.0) } / 4
                let tolerance = format.isRGB ? 1 : 0.5
                #expect(abs(Double(after.pixel(x, y).0) - first) <= tolerance)
                if format.isRGB {
                    let third: Double = four.reduce(0) { $0 + Double($1.2) } / 4
                    #expect(abs(Double(after.pixel(x, y).2) - third) <= tolerance)
                }
            }
        }
    }

    @Test func nearestTakesPixelsAsTheyAre() throws {
        let picture = try noise(.argb, 4, 4)
        let (before, after) = (
            Samples(picture), Samples(try processor.scale(picture, width: 12, height: 12, filter: .none))
        )
        for y in 0..<12 { for x in 0..<12 { #expect(after.pixel(x, y) == before.pixel(x / 3, y / 3)) } }
    }

    @Test(arguments: [(PixelFormat.yuy2, PixelFormat.nv12), (.uyvy, .nv12), (.rgb24, .argb)])
    func convertsWhatCannotBeScaled(source: PixelFormat, target: PixelFormat) throws {
        let result = try processor.scale(try flat(source, 9, 9, (50, 60, 70)), width: 4, height: 5)
        #expect(result.pixelFormat == target)
        let samples = Samples(result)
        for y in 0..<5 {
            for x in 0..<4 { #expect(distance(triple(samples.pixel(x, y)), (50, 60, 70)) <= 2) }
        }
    }

    @Test(arguments: [(0, 1), (1, 0), (-1, 5), (16384, 1), (1, Int.max)])
    func refusesSizes(size: (Int, Int)) throws {
        let picture = try noise(.nv12, 4, 4)
        #expect {
            try processor.scale(picture, width: size.0, height: size.1)
        } throws: {
            ($0 as? CaptureError)?.code == .invalidConfiguration
        }
    }
}

@Suite struct TurnTests {
    let processor = FrameProcessor()

    /// Where the pixel at x, y of the turned picture was, by the definition of a clockwise turn.
    private func origin(_ x: Int, _ y: Int, _ turn: VideoOrientation, _ width: Int, _ height: Int) -> (Int, Int) {
        switch turn {
        case .up: (x, y)
        case .left: (y, height - 1 - x)
        case .down: (width - 1 - x, height - 1 - y)
        case .right: (width - 1 - y, x)
        }
    }

    @Test(arguments: geometric, VideoOrientation.allCases) func turns(format: PixelFormat, turn: VideoOrientation)
        throws
    {
        for (width, height) in oddSizes + [(34, 18), (128, 64), (6, 4)] {
            for mirrors in [false, true] {
                let picture = try noise(format, width, height)
                let result = try processor.turn(picture, clockwise: turn, mirrors: mirrors)
                let (before, after) = (Samples(picture), Samples(result))
                #expect((result.width, result.height) == (turn.swapsDimensions ? (height, width) : (width, height)))
                // Chroma of odd sides is shifted by half a sample, so it is compared in even sizes only.
                let isWhole = format.isRGB || (width % 2 == 0 && height % 2 == 0)
                var isRight = true
                for y in 0..<result.height {
                    for x in 0..<result.width {
                        let seen = mirrors ? result.width - 1 - x : x
                        let from = origin(seen, y, turn, width, height)
                        let (new, old) = (after.pixel(x, y), before.pixel(from.0, from.1))
                        if isWhole ? new != old : new.0 != old.0 { isRight = false }
                    }
                }
                #expect(isRight, "\(format) \(width)x\(height) \(turn) mirrored: \(mirrors)")
            }
        }
    }

    /// A white corner: `.left` turns by 90° clockwise, so the top left corner goes to the top right.
    @Test(arguments: [(VideoOrientation.up, 0, 0), (.left, 2, 0), (.down, 3, 2), (.right, 0, 3)])
    func uprightFollowsTheDocumentation(turn: VideoOrientation, x: Int, y: Int) throws {
        let picture = try PixelBuffer.make(.argb, width: 4, height: 3) { pixels in
            pixels.fill(plane: 0) { column, row in column < 4 && row == 0 ? 255 : 0 }
        }
        let frame = VideoFrame(buffer: picture, timestamp: .zero, orientation: turn)
        let result = try processor.upright(frame)
        #expect(result.orientation == .up)
        #expect(Samples(result.buffer).pixel(x, y) == (255, 255, 255))
    }

    @Test func chromaOfOddSidesIsTurnedAsItIs() throws {
        let picture = try noise(.nv12, 5, 3)
        let turned = Samples(try processor.turn(picture, clockwise: .left))
        let before = Samples(picture)
        // 3 by 2 samples of chroma become 2 by 3.
        for y in 0..<3 {
            for x in 0..<2 { #expect(turned.pixel(min(x * 2, 2), y * 2).1 == before.pixel(y * 2, (1 - x) * 2).1) }
        }
    }

    /// Mirrored as seen upright: a picture on its side is mirrored from top to bottom in memory.
    @Test(arguments: VideoOrientation.allCases) func mirrorsAsSeen(turn: VideoOrientation) throws {
        let frame = VideoFrame(
            buffer: try noise(.argb, 5, 4), timestamp: .zero, orientation: turn, isMirrored: true)
        let mirrored = try processor.mirror(frame)
        #expect(mirrored.orientation == turn && !mirrored.isMirrored)
        let late = Samples(try processor.upright(mirrored).buffer)
        let upright = Samples(try processor.upright(frame).buffer)
        for y in 0..<late.height {
            for x in 0..<late.width { #expect(late.pixel(x, y) == upright.pixel(late.width - 1 - x, y)) }
        }
        #expect(Samples(try processor.mirror(mirrored).buffer).isEqual(to: Samples(frame.buffer)))
    }
}

@Suite struct CropTests {
    let processor = FrameProcessor()

    @Test(arguments: rawFormats) func takesTheRightPixels(format: PixelFormat) throws {
        let picture = try noise(format, 23, 21)
        let before = Samples(picture)
        for rect in [
            PixelRect(x: 0, y: 0, width: 5, height: 5), PixelRect(x: 1, y: 0, width: 4, height: 4),
            PixelRect(x: 3, y: 5, width: 7, height: 3), PixelRect(x: 22, y: 20, width: 1, height: 1),
            PixelRect(x: 1, y: 1, width: 22, height: 20), PixelRect(x: 2, y: 2, width: 21, height: 19),
        ] {
            let after = Samples(try processor.crop(picture, to: rect))
            #expect((after.width, after.height) == (rect.width, rect.height))
            for y in 0..<rect.height {
                for x in 0..<rect.width {
                    let (new, old) = (after.pixel(x, y), before.pixel(rect.x + x, rect.y + y))
                    #expect(new.0 == old.0, "\(format) \(rect) at \(x), \(y)")
                    if format.isRGB { #expect(new == old) }
                    // The offset of chroma is rounded down; 4:2:2 loses rows besides and is tested elsewhere.
                    if format.layoutIs420 {
                        let shared = before.pixel((rect.x / 2 + x / 2) * 2, (rect.y / 2 + y / 2) * 2)
                        #expect(new.1 == shared.1 && new.2 == shared.2, "\(format) \(rect) at \(x), \(y)")
                    }
                }
            }
        }
    }

    @Test(arguments: [
        PixelRect(x: -1, y: 0, width: 2, height: 2), PixelRect(x: 0, y: 0, width: 0, height: 2),
        PixelRect(x: 7, y: 0, width: 2, height: 2), PixelRect(x: 0, y: 7, width: 2, height: 2),
        PixelRect(x: 0, y: 0, width: 9, height: 2), PixelRect(x: .max, y: 0, width: .max, height: 2),
        PixelRect(x: .min, y: .min, width: .max, height: .max), PixelRect(x: 0, y: 0, width: 2, height: -3),
    ]) func refusesPartsOutside(rect: PixelRect) throws {
        let picture = try noise(.nv12, 8, 8)
        #expect {
            try processor.crop(picture, to: rect)
        } throws: {
            ($0 as? CaptureError)?.code == .invalidConfiguration
        }
    }
}

extension PixelFormat {
    fileprivate var layoutIs420: Bool { [.i420, .yv12, .nv12, .nv21].contains(self) }
}
