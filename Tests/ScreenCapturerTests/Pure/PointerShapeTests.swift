import Testing
import VideoCapturing

@testable import ScreenCapturer

@Suite struct PointerShapeTests {
    private func blended(_ shape: PointerShape, x: Int, y: Int, part: PixelRect, over color: UInt32) -> [UInt32] {
        var pixels = [UInt32](repeating: color, count: part.width * part.height)
        pixels.withUnsafeMutableBytes { bytes in
            shape.blend(
                x: x, y: y, into: bytes.baseAddress!.assumingMemoryBound(to: UInt8.self), of: part)
        }
        return pixels
    }

    private func shape(_ pixels: [UInt32], width: Int) -> PointerShape {
        PointerShape(width: width, height: pixels.count / width, hotX: 0, hotY: 0, pixels: pixels)
    }

    @Test func coversBlendsAndLeavesOut() {
        // Opaque white, half of a premultiplied red, nothing.
        let pixels = blended(
            shape([0xFFFF_FFFF, 0x8080_0000, 0], width: 3), x: 0, y: 0,
            part: PixelRect(x: 0, y: 0, width: 3, height: 1), over: 0xFF00_64C8)
        #expect(pixels[0] == 0xFFFF_FFFF)
        #expect(pixels[1] == 0xFF80_3264)
        #expect(pixels[2] == 0xFF00_64C8)
    }

    @Test(arguments: [(-1, -1), (3, 2), (10, 10), (-9, 0)])
    func isCutAtTheEdgesOfThePart(place: (x: Int, y: Int)) {
        let part = PixelRect(x: 2, y: 1, width: 4, height: 3)
        let x = part.x + place.x
        let y = part.y + place.y
        let pixels = blended(shape([1, 2, 3, 4].map { 0xFF00_0000 | $0 }, width: 2), x: x, y: y, part: part, over: 9)
        for row in 0..<3 {
            for column in 0..<4 {
                let (shapeX, shapeY) = (column + part.x - x, row + part.y - y)
                let isCovered = (0..<2).contains(shapeX) && (0..<2).contains(shapeY)
                let expected = isCovered ? 0xFF00_0000 | UInt32(shapeY * 2 + shapeX + 1) : 9
                #expect(pixels[row * 4 + column] == expected, "\(column),\(row)")
            }
        }
    }
}
