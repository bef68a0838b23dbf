import FrameProcessing
import Testing
import VideoCapturing

/// Known values, so that no name is taken for another: libyuv names RGB by words, this package by bytes.
@Suite struct ColorNameTests {
    let processor = FrameProcessor()

    @Test(arguments: [PixelFormat.argb, .bgra, .abgr, .rgba, .rgb24])
    func redIsRedInEveryLayout(format: PixelFormat) throws {
        let result = Samples(try processor.convert(try flat(format, 6, 4, (255, 0, 0)), to: .i420))
        for y in 0..<4 {
            for x in 0..<6 { #expect(distance(triple(result.pixel(x, y)), (81, 90, 240)) <= 1) }
        }
    }

    @Test(arguments: targetFormats.filter { $0.isRGB }) func redComesBack(format: PixelFormat) throws {
        let result = Samples(try processor.convert(try flat(.nv12, 6, 4, (81, 90, 240)), to: format))
        #expect(distance(triple(result.pixel(5, 3)), (255, 0, 0)) <= 2)
    }

    /// The 100 % colour bars of BT.601 and BT.709 in limited range, from the recommendations' tables.
    @Test(arguments: [
        (
            ColorDescription.bt601,
            [
                (235, 128, 128), (210, 16, 146), (170, 166, 16), (145, 54, 34), (106, 202, 222), (81, 90, 240),
                (41, 240, 110), (16, 128, 128),
            ]
        ),
        (
            ColorDescription.bt709,
            [
                (235, 128, 128), (219, 16, 138), (188, 154, 16), (173, 42, 26), (78, 214, 230), (63, 102, 240),
                (32, 240, 118), (16, 128, 128),
            ]
        ),
    ]) func colorBars(color: ColorDescription, codes: [(Int, Int, Int)]) throws {
        let colors: [(UInt8, UInt8, UInt8)] = [
            (255, 255, 255), (255, 255, 0), (0, 255, 255), (0, 255, 0), (255, 0, 255), (255, 0, 0), (0, 0, 255),
            (0, 0, 0),
        ]
        for (rgb, code) in zip(colors, codes) {
            let exact = (Double(code.0), Double(code.1), Double(code.2))
            for target in [PixelFormat.i420, .nv12] {
                let made = try processor.convert(try flat(.argb, 4, 2, rgb), to: target, targetColor: color)
                #expect(distance(triple(Samples(made).pixel(3, 1)), exact) <= 1, "\(rgb) in \(color)")
            }
            let picture = try flat(.nv12, 4, 2, (UInt8(code.0), UInt8(code.1), UInt8(code.2)))
            let back = try processor.convert(picture, color: color, to: .bgra)
            #expect(distance(triple(Samples(back).pixel(3, 1)), triple(rgb)) <= 3, "\(rgb) from \(color)")
        }
    }

    @Test func blackAndWhiteSurviveEveryColor() throws {
        for color in allColors {
            let (black, white): (UInt8, UInt8) = color.range == .limited ? (16, 235) : (0, 255)
            for other in allColors {
                let (otherBlack, otherWhite): (UInt8, UInt8) = other.range == .limited ? (16, 235) : (0, 255)
                for (from, to) in [(black, otherBlack), (white, otherWhite)] {
                    let picture = try flat(.nv12, 3, 3, (from, 128, 128))
                    let result = try processor.convert(picture, color: color, to: .i420, targetColor: other)
                    #expect(Samples(result).pixel(2, 2) == (to, 128, 128), "\(color) to \(other)")
                }
            }
        }
    }
}
