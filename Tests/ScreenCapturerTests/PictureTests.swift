import FrameProcessing
import ScreenCapturer
import Testing
import VideoCapturing
import XTestTools

extension ScreenCapturerTests {
    /// What is on the screen arrives, pixel by pixel.
    @Suite struct PictureTests {
        private static let screen = Result { try VirtualScreen() }
        private let screen: VirtualScreen
        private let client: XClient
        private let window: XWindow
        private var shown = Picture(width: 320, height: 200, seed: 1)

        init() throws {
            screen = try PictureTests.screen.get()
            client = try XClient(screen)
            window = try XWindow(client, shown.bounds)
            try window.draw(shown)
        }

        @Test(arguments: [PixelFormat.argb, .nv12, .i420])
        mutating func showsTheDesktop(format: PixelFormat) throws {
            let run = try ScreenRun.running(screen) { $0.pixelFormat = format }
            let first = try #require(run.probe.last)
            #expect(first.frame.damage == nil)
            #expect(run.capture.state == .running)
            #expect(try run.probe.fault(shown, as: format) == nil)
            #expect(run.capture.screenStatistics.usesSharedMemory)

            // Odd places and sizes, where chroma is shared with what did not change.
            for (index, rect) in [(3, 5, 1, 1), (100, 51, 33, 17), (319, 199, 1, 1), (0, 0, 7, 3)].enumerated() {
                let patch = Picture(width: rect.2, height: rect.3, seed: UInt32(index + 7))
                try window.draw(patch, x: rect.0, y: rect.1)
                shown.draw(patch, x: rect.0, y: rect.1)
                #expect(try run.probe.fault(shown, as: format) == nil, "after \(rect)")
            }
            #expect(run.probe.shots.allSatisfy { $0.isIntact }, "a frame has changed after it was delivered")
        }

        @Test mutating func followsWhatScrolls() throws {
            let run = try ScreenRun.running(screen) { $0.pixelFormat = .nv12 }
            for line in 0..<10 {
                let upper = shown.cropped(to: PixelRect(x: 0, y: 9, width: 320, height: 191))
                try window.copy(PixelRect(x: 0, y: 9, width: 320, height: 191), toX: 0, y: 0)
                let patch = Picture(width: 320, height: 9, seed: UInt32(line + 100))
                try window.draw(patch, y: 191)
                shown.draw(upper, x: 0, y: 0)
                shown.draw(patch, x: 0, y: 191)
            }
            #expect(try run.probe.fault(shown, as: .nv12) == nil)
            #expect(run.probe.shots.allSatisfy { $0.isIntact }, "a frame has changed after it was delivered")
        }

        /// A consumer that keeps every frame: none of them may be drawn over.
        @Test mutating func leavesDeliveredFramesAlone() throws {
            let run = try ScreenRun.running(screen) { $0.pixelFormat = .i420 }
            for step in 0..<40 {
                let rect = PixelRect(x: step * 7, y: step * 4, width: 20, height: 20)
                try window.fill(rect, 0xFF00_0000 | Color(step) * 0x05_0301)
                shown.fill(rect, 0xFF00_0000 | Color(step) * 0x05_0301)
                pause(.milliseconds(5))
            }
            #expect(try run.probe.fault(shown, as: .i420) == nil)
            #expect(run.probe.count > 5)
            #expect(run.probe.shots.allSatisfy { $0.isIntact }, "a frame has changed after it was delivered")
        }

        @Test mutating func showsARegion() throws {
            for (x, y, width, height) in [(0, 0, 320, 200), (10, 20, 64, 48), (11, 21, 63, 47), (318, 198, 2, 2)] {
                let region = PixelRect(x: x, y: y, width: width, height: height)
                for format in [PixelFormat.argb, .nv12] {
                    let run = try ScreenRun.running(screen) {
                        $0.region = region
                        $0.pixelFormat = format
                    }
                    #expect(try run.probe.fault(shown.cropped(to: region), as: format) == nil, "\(region)")
                    let settings = run.capture.captureSettings().format
                    #expect(settings.imageWidth == width && settings.imageHeight == height)
                    // Once within, and once across its edge.
                    try window.fill(PixelRect(x: x + 1, y: y + 1, width: 1, height: 1), 0xFF12_3456)
                    shown.fill(PixelRect(x: x + 1, y: y + 1, width: 1, height: 1), 0xFF12_3456)
                    try window.fill(PixelRect(x: x + width - 2, y: 0, width: 9, height: 200), 0xFFFE_DCBA)
                    shown.fill(PixelRect(x: x + width - 2, y: 0, width: 9, height: 200), 0xFFFE_DCBA)
                    #expect(try run.probe.fault(shown.cropped(to: region), as: format) == nil, "\(region)")
                }
            }
        }

        /// One pixel is the smallest picture there is.
        @Test func showsOnePixel() throws {
            let region = PixelRect(x: 7, y: 9, width: 1, height: 1)
            for format in [PixelFormat.argb, .nv12, .i420] {
                let configuration = ScreenRun.configuration(screen) {
                    $0.region = region
                    $0.pixelFormat = format
                }
                if let error = refusal(configuration) {
                    #expect(error.code == .invalidConfiguration)
                    continue
                }
                let run = ScreenRun(configuration)
                try run.start()
                #expect(try run.probe.fault(shown.cropped(to: region), as: format) == nil)
            }
        }

        @Test func tellsWhatItDelivers() throws {
            let run = try ScreenRun.running(screen) { $0.pixelFormat = .nv12 }
            let frame = try #require(run.probe.last).frame
            #expect(frame.color == .assumed(for: .nv12))
            #expect(frame.orientation == .up && !frame.isMirrored)
            let settings = run.capture.captureSettings()
            #expect(settings.format.pixelFormat == .nv12)
            #expect(settings.format.imageWidth == 320 && settings.format.imageHeight == 200)
            #expect(settings.sourceName?.isEmpty == false)
            #expect(run.capture.videoContentHint == .text)
        }
    }
}
