import ScreenCapturer
import Testing
import VideoCapturing
import XTestTools

extension ScreenCapturerTests {
    /// Screens and windows whose pixels are made otherwise than of four bytes.
    @Suite struct DepthTests {
        /// The depth and the bits of red, green and blue.
        static let depths = [(15, 5, 5, 5), (16, 5, 6, 5), (24, 8, 8, 8), (30, 8, 8, 8)]

        @Test(arguments: depths, [PixelFormat.argb, .nv12])
        func showsScreens(depth: (bits: Int, red: Int, green: Int, blue: Int), format: PixelFormat) throws {
            let screen = try VirtualScreen(width: 101, height: 67, depth: depth.bits)
            let client = try XClient(screen)
            #expect(Int(client.rootVisual.depth) == depth.bits)
            let drawn = Picture(width: 101, height: 67, seed: 3)
            let window = try XWindow(client, drawn.bounds)
            try window.draw(drawn)
            var shown = drawn.reduced(red: depth.red, green: depth.green, blue: depth.blue)
            let run = ScreenRun(ScreenRun.configuration(screen) { $0.pixelFormat = format })
            // No desktop has this depth today; what counts is a sentence and no wrong picture.
            if depth.bits == 15, let error = refusal(ScreenRun.configuration(screen)) {
                #expect(error.code == .formatUnsupported)
                return
            }
            try run.start()
            #expect(try run.probe.fault(shown, as: format) == nil)
            let patch = Picture(width: 9, height: 5, seed: 4)
            try window.draw(patch, x: 33, y: 21)
            shown.draw(patch.reduced(red: depth.red, green: depth.green, blue: depth.blue), x: 33, y: 21)
            #expect(try run.probe.fault(shown, as: format) == nil)
        }

        /// A terminal with a translucent background, for one.
        @Test(arguments: [PixelFormat.argb, .i420])
        func showsAWindowWithAlpha(format: PixelFormat) throws {
            let screen = try VirtualScreen(width: 160, height: 100)
            let client = try XClient(screen)
            var shown = Picture(width: 61, height: 43, seed: 5)
            let window = try XWindow(client, PixelRect(x: 10, y: 20, width: 61, height: 43), depth: 32)
            try window.draw(shown)
            let run = try ScreenRun.running(screen, .window(window.id)) { $0.pixelFormat = format }
            #expect(try run.probe.fault(shown, as: format) == nil)
            try window.fill(PixelRect(x: 5, y: 7, width: 11, height: 3), 0xFF80_4020)
            shown.fill(PixelRect(x: 5, y: 7, width: 11, height: 3), 0xFF80_4020)
            #expect(try run.probe.fault(shown, as: format) == nil)
        }

        /// A remote display has no memory in common with its clients.
        @Test(arguments: [16, 24, 30])
        func showsScreensWithoutSharedMemory(depth: Int) throws {
            let bits = try #require(DepthTests.depths.first { $0.0 == depth })
            let screen = try VirtualScreen(width: 101, height: 67, depth: depth, options: ["-extension", "MIT-SHM"])
            let client = try XClient(screen)
            let drawn = Picture(width: 101, height: 67, seed: 6)
            let window = try XWindow(client, drawn.bounds)
            try window.draw(drawn)
            var shown = drawn.reduced(red: bits.1, green: bits.2, blue: bits.3)
            let run = try ScreenRun.running(screen)
            #expect(!run.capture.screenStatistics.usesSharedMemory)
            #expect(try run.probe.fault(shown) == nil)
            try window.fill(PixelRect(x: 3, y: 4, width: 5, height: 6), 0xFFFF_FFFF)
            shown.fill(PixelRect(x: 3, y: 4, width: 5, height: 6), 0xFFFF_FFFF)
            #expect(try run.probe.fault(shown) == nil)
        }
    }
}
