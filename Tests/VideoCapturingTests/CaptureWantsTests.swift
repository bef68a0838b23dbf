import Testing
import VideoCapturing

@Suite struct CaptureWantsTests {
    @Test func theMostDemandingDecides() {
        let first = CaptureWants(
            maximumPixelCount: 1000, maximumFrameRate: 30, minimumFrameRate: 5, sizeAlignment: 4,
            acceptsBlack: true)
        let second = CaptureWants(
            maximumFrameRate: FrameRate(30000, per: 1001), minimumFrameRate: 10, sizeAlignment: 6)
        let merged = first.merged(with: second)
        #expect(merged.maximumPixelCount == nil)
        #expect(merged.maximumFrameRate == 30)
        #expect(merged.minimumFrameRate == 10)
        #expect(merged.sizeAlignment == 12)
        #expect(!merged.acceptsBlack)
        #expect(merged == second.merged(with: first))
    }

    @Test func oneMinimumRateIsEnough() {
        let wants = CaptureWants(minimumFrameRate: 10)
        #expect(wants.merged(with: CaptureWants()).minimumFrameRate == 10)
        #expect(CaptureWants().merged(with: wants).minimumFrameRate == 10)
    }

    @Test func enoughIsWhatIsEnoughForAll() {
        let wants = CaptureWants(acceptsBlack: true, acceptsCompressed: true, acceptsNativeFormat: true)
        #expect(wants.merged(with: wants) == wants)
        #expect(wants.merged(with: CaptureWants()) == CaptureWants())
    }

    @Test func jpegNextToSamplesIsKeptForOne() {
        let wants = CaptureWants(acceptsCompressed: true, usesCompressed: true)
        #expect(wants.merged(with: CaptureWants()) == CaptureWants(usesCompressed: true))
        #expect(CaptureWants().merged(with: wants) == CaptureWants(usesCompressed: true))
    }

    @Test func alignmentIsAtLeastOne() {
        #expect(CaptureWants(sizeAlignment: 0).sizeAlignment == 1)
        #expect(CaptureWants(sizeAlignment: -8).sizeAlignment == 1)
    }

    @Test(arguments: [
        (CaptureWants(), 641, 481, 641, 481), (CaptureWants(sizeAlignment: 16), 641, 481, 640, 480),
        (CaptureWants(maximumPixelCount: 320 * 240), 640, 480, 320, 240),
        (CaptureWants(maximumPixelCount: 640 * 480), 640, 480, 640, 480),
        (CaptureWants(maximumPixelCount: 0), 640, 480, 1, 1), (CaptureWants(sizeAlignment: 64), 32, 48, 32, 48),
        (CaptureWants(maximumPixelCount: 10), 0, -3, 0, -3),
    ])
    func sizes(wants: CaptureWants, width: Int, height: Int, newWidth: Int, newHeight: Int) {
        let size = wants.adaptedSize(width: width, height: height)
        #expect(size.width == newWidth && size.height == newHeight, "\(size)")
    }

    @Test(arguments: [1, 7, 100, 12_345, 1_000_000])
    func neverMoreThanAsked(limit: Int) {
        for (width, height) in [(1920, 1080), (353, 287), (16383, 1), (3, 5000)] {
            let size = CaptureWants(maximumPixelCount: limit).adaptedSize(width: width, height: height)
            #expect(size.width >= 1 && size.height >= 1)
            if size.width > 1, size.height > 1 { #expect(size.width * size.height <= limit) }
        }
    }

    /// A motion detector next to a page without viewers.
    @Test func aPassiveConsumerThatStatesARateGetsIt() {
        let page = CaptureWants(maximumFrameRate: FrameRate(1, per: 4), acceptsNativeFormat: true)
        let detector = CaptureWants(maximumPixelCount: 64, maximumFrameRate: 10, isPassive: true)
        for merged in [page.merged(with: detector), detector.merged(with: page)] {
            #expect(merged == CaptureWants(maximumFrameRate: 10, acceptsNativeFormat: true))
        }
        let film = CaptureWants(maximumFrameRate: 25)
        #expect(film.merged(with: detector) == film)
        #expect(CaptureWants().merged(with: detector) == CaptureWants())
        #expect(page.merged(with: CaptureWants(isPassive: true)) == page)
    }
}
