import Testing
import VideoCapturing

@testable import ScreenCapturer

@Suite struct DamagedRegionTests {
    private func region(_ rects: PixelRect..., width: Int = 1281, height: Int = 721) -> DamagedRegion {
        var region = DamagedRegion(width: width, height: height)
        for rect in rects { region.add(rect) }
        return region
    }

    @Test func widensToWholeChromaSamples() {
        #expect(
            region(PixelRect(x: 3, y: 5, width: 2, height: 4)).parts == [PixelRect(x: 2, y: 4, width: 4, height: 6)])
    }

    @Test func endsWithAnOddPicture() {
        #expect(
            region(PixelRect(x: 1279, y: 719, width: 9, height: 9)).parts == [
                PixelRect(x: 1278, y: 718, width: 3, height: 3)
            ])
    }

    @Test(arguments: [
        PixelRect(x: -5, y: 0, width: 5, height: 5), PixelRect(x: 1281, y: 0, width: 5, height: 5),
        PixelRect(x: 0, y: 721, width: 5, height: 5), PixelRect(x: 5, y: 5, width: 0, height: 5),
    ])
    func leavesOutWhatIsOutside(rect: PixelRect) {
        #expect(region(rect).isEmpty)
    }

    @Test func makesOneOfNearOnes() {
        let letters = region(
            PixelRect(x: 100, y: 100, width: 8, height: 12), PixelRect(x: 110, y: 100, width: 8, height: 12),
            PixelRect(x: 120, y: 100, width: 8, height: 12))
        #expect(letters.parts == [PixelRect(x: 100, y: 100, width: 28, height: 12)])
    }

    @Test func keepsFarOnesApart() {
        let corners = region(
            PixelRect(x: 0, y: 0, width: 16, height: 16), PixelRect(x: 1200, y: 700, width: 16, height: 16))
        #expect(corners.parts.count == 2)
    }

    @Test func isNeverALongList() {
        var region = DamagedRegion(width: 16000, height: 16000)
        for index in 0..<2000 {
            region.add(PixelRect(x: index % 40 * 400, y: index / 40 * 300, width: 20, height: 20))
            #expect(region.parts.count <= 32)
        }
    }

    @Test func coversAllThatWasAdded() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<50 {
            var region = DamagedRegion(width: 333, height: 221)
            var wanted = Set<Int>()
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                let rect = PixelRect(
                    x: .random(in: -20..<340, using: &random), y: .random(in: -20..<230, using: &random),
                    width: .random(in: 1..<40, using: &random), height: .random(in: 1..<40, using: &random))
                region.add(rect)
                for y in rect.y..<rect.y + rect.height where (0..<221).contains(y) {
                    for x in rect.x..<rect.x + rect.width where (0..<333).contains(x) { wanted.insert(y * 333 + x) }
                }
            }
            for part in region.parts {
                #expect(part.x % 2 == 0 && part.y % 2 == 0)
                #expect(part.x + part.width <= 333 && part.y + part.height <= 221)
                for y in part.y..<part.y + part.height {
                    for x in part.x..<part.x + part.width { wanted.remove(y * 333 + x) }
                }
            }
            #expect(wanted.isEmpty)
        }
    }
}
