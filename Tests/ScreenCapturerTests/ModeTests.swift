import ScreenCapturer
import Testing
import VideoCapturing
import XTestTools

extension ScreenCapturerTests {
    /// The display changes its mode while it is captured.
    @Suite struct ModeTests {
        private let screen: VirtualScreen
        private let client: XClient
        private let window: XWindow
        private let shown = Picture(width: 320, height: 200, seed: 41)

        init() throws {
            screen = try VirtualScreen()
            client = try XClient(screen)
            window = try XWindow(client, shown.bounds)
            try window.draw(shown)
        }

        @Test(arguments: [PixelFormat.argb, .nv12])
        func followsTheDesktop(format: PixelFormat) throws {
            let run = try ScreenRun.running(screen) { $0.pixelFormat = format }
            #expect(try run.probe.fault(shown, as: format) == nil)
            for (width, height) in [(160, 120), (301, 77), (320, 200)] {
                try client.setScreenSize(width: width, height: height)
                // What was off the screen is not kept by the server.
                try window.draw(shown)
                let part = shown.cropped(to: PixelRect(x: 0, y: 0, width: width, height: height))
                #expect(try run.probe.fault(part, as: format) == nil, "\(width)x\(height)")
                let first = run.probe.shots.last { $0.frame.damage == nil }
                #expect(first?.frame.width == width && first?.frame.height == height)
            }
            let patch = PixelRect(x: 310, y: 190, width: 10, height: 10)
            try window.fill(patch, 0xFF00_FF00)
            var changed = shown
            changed.fill(patch, 0xFF00_FF00)
            #expect(try run.probe.fault(changed, as: format) == nil)
            #expect(run.capture.state == .running)
            #expect(run.probe.disorder == nil)
            #expect(run.probe.shots.allSatisfy { $0.isIntact })
        }

        @Test func followsTheMonitor() throws {
            let name = try #require(try ScreenDirectory(display: screen.name).monitors().first).name
            let run = try ScreenRun.running(screen, .monitor(name))
            try client.setScreenSize(width: 200, height: 150)
            try window.draw(shown)
            let part = shown.cropped(to: PixelRect(x: 0, y: 0, width: 200, height: 150))
            #expect(try run.probe.fault(part) == nil)
        }

        /// A region that has no place any more is a pause or an end with a reason, and never a crash or a hang.
        @Test func survivesALostRegion() throws {
            let run = try ScreenRun.running(screen) { $0.region = PixelRect(x: 200, y: 100, width: 100, height: 80) }
            try client.setScreenSize(width: 160, height: 120)
            #expect(run.waitForState { $0 != .running }, "still running with \(run.probe.count) frames")
            try client.setScreenSize(width: 320, height: 200)
            try window.draw(shown)
            if run.capture.isCaptureStarted {
                let part = shown.cropped(to: PixelRect(x: 200, y: 100, width: 100, height: 80))
                #expect(try run.probe.fault(part) == nil)
            }
            try run.capture.stopCapture()
        }

        @Test func survivesManyChanges() throws {
            let run = try ScreenRun.running(screen)
            for step in 0..<12 {
                try client.setScreenSize(width: 100 + step * 13, height: 200 - step * 9)
                try window.fill(
                    PixelRect(x: step, y: step, width: 50, height: 50), 0xFF00_0000 | Color(step) * 0x11_1111)
            }
            try client.setScreenSize(width: 320, height: 200)
            try window.draw(shown)
            #expect(try run.probe.fault(shown) == nil)
            #expect(run.probe.disorder == nil)
        }
    }
}
