import Testing
import VideoCapturing

@testable import FrameProcessing

@Suite struct TransformTests {
    let processor = FrameProcessor()

    private func plan(
        _ transform: FrameTransform, _ format: PixelFormat, orientation: VideoOrientation = .up
    ) throws -> TransformPlan {
        try TransformPlan(
            transform, pixelFormat: format, size: PixelSize(width: 64, height: 48), color: .assumed(for: format),
            orientation: orientation)
    }

    @Test func convertsRGBBeforeAndAfterWhereThereIsLessToDo() throws {
        let half = PixelSize(width: 32, height: 24)
        let double = PixelSize(width: 128, height: 96)
        let down = try plan(FrameTransform(size: half, pixelFormat: .nv12), .argb)
        #expect(down.first == nil && down.scaled == half && down.last == .nv12)
        let up = try plan(FrameTransform(size: double, pixelFormat: .nv12), .argb)
        #expect(up.first == .nv12 && up.last == nil)
        let toRGB = try plan(FrameTransform(size: half, pixelFormat: .argb), .nv12)
        #expect(toRGB.first == nil && toRGB.last == .argb)
        let packed = try plan(FrameTransform(size: half, pixelFormat: .rgba), .yuy2)
        #expect(packed.first == .nv12 && packed.last == .rgba)
        let direct = try plan(FrameTransform(size: half, pixelFormat: .i420), .yuy2)
        #expect(direct.first == .i420 && direct.last == nil)
        let cut = try plan(
            FrameTransform(crop: PixelRect(x: 1, y: 1, width: 3, height: 3), pixelFormat: .argb), .nv12)
        #expect(cut.first == .argb && cut.scaled == nil && cut.last == nil)
    }

    @Test func sizeIsThatOfTheResult() throws {
        let wanted = PixelSize(width: 24, height: 32)
        let turned = try plan(FrameTransform(size: wanted, appliesOrientation: true), .nv12, orientation: .right)
        #expect(turned.scaled == wanted.transposed && turned.size == wanted)
        let same = try plan(
            FrameTransform(size: PixelSize(width: 48, height: 64), appliesOrientation: true), .nv12, orientation: .left)
        #expect(same.scaled == nil && same.turn == Turn(rotation: .left))
    }

    /// All at once gives what the steps give one after another.
    @Test(arguments: [PixelFormat.nv12, .i420, .argb, .yuy2, .uyvy, .rgb24, .rgba], [PixelFormat.bgra, .nv12, .rgb24])
    func equalsItsSteps(source: PixelFormat, target: PixelFormat) throws {
        let frame = VideoFrame(buffer: try noise(source, 37, 25), timestamp: .zero, orientation: .left)
        let rect = PixelRect(x: 3, y: 4, width: 30, height: 20)
        let whole = try processor.apply(
            FrameTransform(crop: rect, appliesOrientation: true, mirrors: true, pixelFormat: target), to: frame)
        #expect(whole.pixelFormat == target && whole.orientation == .up)
        #expect(whole.width == 20 && whole.height == 30)
        var steps = try processor.crop(frame, to: rect)
        steps = try processor.upright(steps)
        steps = try processor.mirror(steps)
        steps = try processor.convert(steps, to: target)
        #expect(steps.color == whole.color)
        let (one, other) = (Samples(whole.buffer), Samples(steps.buffer))
        var worst = 0.0
        for y in 0..<30 {
            for x in 0..<20 { worst = max(worst, distance(triple(one.pixel(x, y)), triple(other.pixel(x, y)))) }
        }
        // A conversion before a turn and one after it may round a mean of chroma differently.
        #expect(worst <= 1)
    }

    @Test func cropAndConvertInOnePassIsExact() throws {
        let picture = try noise(.yuy2, 19, 6)
        for x in [2, 3] {
            let rect = PixelRect(x: x, y: 2, width: 8, height: 3)
            let result = try processor.apply(FrameTransform(crop: rect, pixelFormat: .argb), to: picture)
            let (before, after) = (Samples(picture), Samples(result.buffer))
            for row in 0..<3 {
                for column in 0..<8 {
                    let exact = Reference.convert(before, .bt601, to: .argb, result.color, at: x + column, 2 + row)
                    #expect(distance(triple(after.pixel(column, row)), exact) <= 2)
                }
            }
        }
    }

    @Test func damageFollowsItsPixels() throws {
        let old = try noise(.argb, 40, 30)
        let spot = PixelRect(x: 11, y: 7, width: 3, height: 2)
        let new = try PixelBuffer.make(.argb, width: 40, height: 30) { pixels in
            let before = Samples(old)
            pixels.fill(plane: 0) { column, row in
                let inside = spot.x..<spot.x + spot.width ~= column / 4 && spot.y..<spot.y + spot.height ~= row
                let pixel = before.pixel(column / 4, row)
                return inside ? 0 : [before.alpha(column / 4, row)!, pixel.0, pixel.1, pixel.2][column % 4]
            }
        }
        let transforms = [
            FrameTransform(pixelFormat: .nv12), FrameTransform(crop: PixelRect(x: 5, y: 3, width: 31, height: 21)),
            FrameTransform(size: PixelSize(width: 17, height: 13)),
            FrameTransform(size: PixelSize(width: 99, height: 71), filter: .bilinear),
            FrameTransform(
                crop: PixelRect(x: 5, y: 3, width: 31, height: 21), size: PixelSize(width: 20, height: 30),
                appliesOrientation: true, mirrors: true, pixelFormat: .i420),
        ]
        for transform in transforms {
            for orientation in VideoOrientation.allCases {
                let before = VideoFrame(buffer: old, timestamp: .zero, orientation: orientation)
                let after = VideoFrame(buffer: new, timestamp: .zero, orientation: orientation, damage: [spot])
                let (first, second) = (
                    try processor.apply(transform, to: before), try processor.apply(transform, to: after)
                )
                let damage = try #require(second.damage)
                #expect(damage.allSatisfy { $0.width * $0.height < second.width * second.height })
                let (was, now) = (Samples(first.buffer), Samples(second.buffer))
                for y in 0..<now.height {
                    for x in 0..<now.width where was.pixel(x, y) != now.pixel(x, y) {
                        let isInside = damage.contains {
                            $0.x..<$0.x + $0.width ~= x && $0.y..<$0.y + $0.height ~= y
                        }
                        #expect(isInside, "\(transform) \(orientation) at \(x), \(y)")
                    }
                }
            }
        }
    }

    @Test func damageOfAnySizeIsHarmless() throws {
        let wild = [
            PixelRect(x: .max, y: .max, width: .max, height: .max), PixelRect(x: -5, y: -5, width: 10, height: 10),
            PixelRect(x: .min, y: 0, width: .max, height: 1), PixelRect(x: 0, y: 0, width: -4, height: 0),
        ]
        let frame = VideoFrame(buffer: try noise(.nv12, 16, 16), timestamp: .zero, damage: wild)
        let result = try processor.scale(frame, width: 9, height: 9)
        for rect in try #require(result.damage) {
            #expect(rect.x >= 0 && rect.y >= 0 && rect.x + rect.width <= 9 && rect.y + rect.height <= 9)
        }
    }
}
