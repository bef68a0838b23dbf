import Testing
import VideoCapturing

@Suite struct PixelAspectTests {
    @Test func isInLowestTerms() throws {
        #expect(PixelAspect(width: 128, height: 90)?.description == "64:45")
        #expect(PixelAspect(width: 720, height: 720) == .square)
        #expect(try #require(PixelAspect(width: 64, height: 45)).transposed == PixelAspect(width: 45, height: 64))
        // To 16 bits.
        let long = try #require(PixelAspect(width: 1_000_003, height: 999_979))
        #expect(abs(long.ratio - 1.000024) < 0.0001 && !long.isSquare)
    }

    /// As damaged headers have them.
    @Test(arguments: [(0, 1), (1, 0), (-4, 3), (1, 11), (Int.max, 1), (1, Int.max), (0, 0)])
    func isOfNoOtherShape(width: Int, height: Int) {
        #expect(PixelAspect(width: width, height: height) == nil)
    }

    /// As wide as players show it, and never smaller.
    @Test func theSizeInSquarePixels() throws {
        for (size, aspect, shown) in [
            ((720, 576), (64, 45), (1024, 576)), ((720, 576), (16, 15), (768, 576)), ((720, 480), (8, 9), (720, 540)),
            ((1440, 1080), (4, 3), (1920, 1080)), ((101, 77), (1, 1), (101, 77)), ((16383, 2), (2, 1), (16382, 2)),
        ] {
            let aspect = try #require(PixelAspect(width: aspect.0, height: aspect.1))
            let squared = PixelSize(width: size.0, height: size.1).squared(aspect)
            #expect(squared == PixelSize(width: shown.0, height: shown.1))
        }
    }
}
