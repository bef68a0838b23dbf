import ScreenCapturer
import Testing
import VideoCapturing
import XTestTools

extension ScreenCapturerTests {
    /// A window is covered, moved, resized, hidden and closed while it is captured.
    @Suite struct WindowLifeTests {
        private static let screen = Result { try VirtualScreen() }
        private let screen: VirtualScreen
        private let client: XClient
        private let window: XWindow
        private var drawn = Picture(width: 81, height: 61, seed: 21)

        init() throws {
            screen = try WindowLifeTests.screen.get()
            client = try XClient(screen)
            window = try XWindow(client, PixelRect(x: 40, y: 30, width: 81, height: 61), color: 0xFF40_8020)
            try window.draw(drawn)
        }

        @Test mutating func showsWhatIsCovered() throws {
            let run = try ScreenRun.running(screen, .window(window.id))
            #expect(try run.probe.fault(drawn) == nil)
            _ = try XWindow(client, PixelRect(x: 0, y: 0, width: 320, height: 200), color: 0xFFFF_FFFF)
            let patch = Picture(width: 20, height: 10, seed: 22)
            try window.draw(patch, x: 31, y: 17)
            drawn.draw(patch, x: 31, y: 17)
            #expect(try run.probe.fault(drawn) == nil)
        }

        /// Covered from the start, too: what lies beneath was never drawn while it was being captured.
        @Test func showsWhatWasUncovered() throws {
            let cover = try XWindow(client, PixelRect(x: 0, y: 0, width: 320, height: 200), color: 0xFFFF_FFFF)
            let run = try ScreenRun.running(screen, .window(window.id))
            // Its contents are kept from now on; what a server without backing store forgot has to be drawn again.
            try window.draw(drawn)
            #expect(try run.probe.fault(drawn) == nil)
            try cover.unmap()
            _ = run.settle()
            #expect(try run.probe.fault(drawn) == nil)
        }

        /// Half of it outside of the screen: drawn there all the same.
        @Test mutating func followsMoves() throws {
            let run = try ScreenRun.running(screen, .window(window.id))
            for (x, y) in [(0, 0), (-30, -20), (280, 170), (101, 51)] {
                try window.move(x: x, y: y)
                let patch = Picture(width: 20, height: 10, seed: UInt32(500 + x))
                try window.draw(patch, x: 60, y: 50)
                drawn.draw(patch, x: 60, y: 50)
                #expect(try run.probe.fault(drawn) == nil, "at \(x), \(y)")
            }
        }

        @Test(arguments: [PixelFormat.argb, .nv12])
        func followsResizes(format: PixelFormat) throws {
            let run = try ScreenRun.running(screen, .window(window.id)) { $0.pixelFormat = format }
            for (width, height) in [(120, 90), (33, 27), (200, 21), (353, 287), (1, 1), (64, 48)] {
                try window.resize(width: width, height: height)
                let picture = Picture(width: width, height: height, seed: UInt32(width))
                try window.draw(picture)
                if width == 1 {
                    // A picture of one pixel, or a pause, but not the end.
                    _ = run.settle()
                    #expect(run.capture.isCaptureStarted, "\(run.capture.state)")
                    continue
                }
                #expect(try run.probe.fault(picture, as: format) == nil, "\(width)x\(height)")
                let first = run.probe.shots.first { $0.frame.width == width && $0.frame.height == height }
                #expect(first != nil && first?.frame.damage == nil)
            }
            #expect(run.probe.shots.allSatisfy { $0.isIntact })
            #expect(run.probe.disorder == nil)
        }

        @Test mutating func waitsWhileItIsHidden() throws {
            let run = try ScreenRun.running(screen, .window(window.id))
            for round in 0..<3 {
                try window.unmap()
                #expect(run.waitForState { $0 != .running }, "round \(round)")
                #expect(run.isInterrupted)
                let count = run.settle()
                pause(.milliseconds(100))
                #expect(run.probe.count == count)
                try window.map()
                drawn = Picture(width: 81, height: 61, seed: UInt32(30 + round))
                try window.draw(drawn)
                #expect(run.waitForState { $0 == .running }, "round \(round)")
                #expect(try run.probe.fault(drawn) == nil, "round \(round)")
            }
            #expect(run.capture.statistics.interruptions == 3)
            #expect(run.probe.disorder == nil)
        }

        @Test func endsWithTheWindow() throws {
            let run = try ScreenRun.running(screen, .window(window.id))
            try window.destroy()
            #expect(run.waitForState { if case .stopped = $0 { true } else { false } })
            guard case .stopped(.deviceLost(let error)) = run.capture.state else {
                Issue.record("the state is \(run.capture.state)")
                return
            }
            #expect(error.code == .deviceLost)
            #expect(!run.capture.isCaptureStarted)
        }

        /// The client crashes, and all its windows are gone at once.
        @Test func endsWithTheProgram() throws {
            let run: ScreenRun
            do {
                let other = try XClient(screen)
                let theirs = try XWindow(other, PixelRect(x: 0, y: 0, width: 50, height: 50), title: "theirs")
                run = try ScreenRun.running(screen, .window(theirs.id))
            }
            #expect(run.waitForState { if case .stopped(.deviceLost) = $0 { true } else { false } })
        }

        /// Destroyed while it is hidden.
        @Test func endsWithAHiddenWindow() throws {
            let run = try ScreenRun.running(screen, .window(window.id))
            try window.unmap()
            #expect(run.waitForState { _ in run.isInterrupted })
            try window.destroy()
            #expect(run.waitForState { if case .stopped(.deviceLost) = $0 { true } else { false } })
        }

        @Test func waitsForAWindowThatIsHiddenFromTheStart() throws {
            try window.unmap()
            let configuration = ScreenRun.configuration(screen, .window(window.id))
            if let error = refusal(configuration) {
                #expect([.unavailable, .deviceNotFound].contains(error.code), "\(error)")
                return
            }
            let run = ScreenRun(configuration)
            try run.start()
            try window.map()
            try window.draw(drawn)
            #expect(try run.probe.fault(drawn) == nil)
        }
    }
}
