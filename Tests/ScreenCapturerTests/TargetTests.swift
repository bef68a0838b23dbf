import ScreenCapturer
import TestTools
import Testing
import VideoCapturing
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension ScreenCapturerTests {
    /// Monitors and windows are found by what people call them.
    @Suite struct TargetTests {
        private static let screen = Result { try VirtualScreen() }
        private let screen: VirtualScreen
        private let client: XClient
        private let shown = Picture(width: 320, height: 200, seed: 11)

        init() throws {
            screen = try TargetTests.screen.get()
            client = try XClient(screen)
            try XWindow(client, shown.bounds).draw(shown)
        }

        /// libxcb 1.15 takes the length of `RRSetMonitor` from memory that it has not set. It is 0 as long as nothing else
        /// has used it, as a sanitizer does, and else the connection is closed: so much for the client that adds monitors.
        private static let canAddMonitors = dlsym(nil, "__tsan_init") == nil && dlsym(nil, "__asan_init") == nil

        @Test(.enabled(if: canAddMonitors, "libxcb cannot add monitors under a sanitizer."))
        func showsMonitors() throws {
            let left = PixelRect(x: 0, y: 0, width: 161, height: 200)
            let right = PixelRect(x: 161, y: 0, width: 159, height: 120)
            try client.addMonitor("DP-1", left, isPrimary: true, takesOutput: true)
            try client.addMonitor("HDMI-2", right)
            defer { for name in ["DP-1", "HDMI-2"] { try? client.removeMonitor(name) } }
            let monitors = try ScreenDirectory(display: screen.name).monitors()
            #expect(monitors.map(\.name) == ["DP-1", "HDMI-2"])
            #expect(monitors.map(\.frame) == [left, right])
            #expect(monitors.map(\.isPrimary) == [true, false])

            for (name, frame) in [("DP-1", left), ("HDMI-2", right), ("primary", left)] {
                let run = try ScreenRun.running(screen, .monitor(name))
                #expect(try run.probe.fault(shown.cropped(to: frame)) == nil, "\(name)")
            }
            let run = try ScreenRun.running(screen, .monitor("HDMI-2")) {
                $0.region = PixelRect(x: 3, y: 5, width: 31, height: 17)
            }
            #expect(try run.probe.fault(shown.cropped(to: PixelRect(x: 164, y: 5, width: 31, height: 17))) == nil)

            let error = try #require(refusal(ScreenRun.configuration(screen, .monitor("HDMI-1"))))
            #expect(error.code == .deviceNotFound)
            #expect(error.message.contains("HDMI-2"), "\(error)")
        }

        @Test func listsWindows() throws {
            let modern = try XWindow(
                client, PixelRect(x: 10, y: 20, width: 60, height: 40), title: "Größe – 大きさ")
            try modern.setProcessID(4321)
            let old = try XWindow(client, PixelRect(x: 100, y: 20, width: 50, height: 30))
            try old.setPlainTitle("xterm: ~/src", class: "XTerm")
            let windows = try ScreenDirectory(display: screen.name).windows()
            let first = try #require(windows.first { $0.id == modern.id })
            #expect(first.title == "Größe – 大きさ")
            #expect(first.processID == 4321)
            #expect(first.frame == PixelRect(x: 10, y: 20, width: 60, height: 40))
            let second = try #require(windows.first { $0.id == old.id })
            #expect(second.title == "xterm: ~/src")
            #expect(second.className == "XTerm")
            #expect(second.processID == nil)
        }

        @Test func showsWindowsByNumberAndTitle() throws {
            let drawn = Picture(width: 71, height: 53, seed: 12)
            let window = try XWindow(client, PixelRect(x: 30, y: 40, width: 71, height: 53), title: "Quarterly report")
            try window.draw(drawn)
            for target in [
                ScreenCapturer.Configuration.Target.window(window.id), .windowTitled("Quarterly report"),
                .windowTitled("quarterly REP"),
            ] {
                for format in [PixelFormat.argb, .nv12] {
                    let run = try ScreenRun.running(screen, target) { $0.pixelFormat = format }
                    #expect(try run.probe.fault(drawn, as: format) == nil, "\(target)")
                }
                let run = try ScreenRun.running(screen, target) {
                    $0.region = PixelRect(x: 1, y: 3, width: 70, height: 50)
                }
                #expect(try run.probe.fault(drawn.cropped(to: PixelRect(x: 1, y: 3, width: 70, height: 50))) == nil)
            }
            let error = try #require(refusal(ScreenRun.configuration(screen, .windowTitled("Quartely reprot"))))
            #expect(error.code == .deviceNotFound)
            #expect(error.message.contains("Quarterly report"), "\(error)")
            #expect(refusal(ScreenRun.configuration(screen, .window(0x7FF_FFFF)))?.code == .deviceNotFound)
        }

        @Test func showsTheWindowThatIsClicked() throws {
            let drawn = Picture(width: 64, height: 48, seed: 13)
            let window = try XWindow(client, PixelRect(x: 200, y: 100, width: 64, height: 48), title: "Click me")
            try window.draw(drawn)
            try client.movePointer(x: 210, y: 110)
            let run = ScreenRun(ScreenRun.configuration(screen, .clickedWindow))
            let outcome = Locked<Result<Void, CaptureError>?>(nil)
            let capture = run.capture
            try CaptureThread(name: "start") {
                let result = Result { () throws(CaptureError) in
                    try capture.initCapture()
                    try capture.startCapture()
                }
                outcome.withLock { $0 = result }
            }
            let isThere = try eventually {
                try client.click()
                pause(.milliseconds(50))
                return outcome.withLock { $0 } != nil
            }
            try #require(isThere, "the click was not seen")
            try outcome.withLock { $0 }?.get()
            #expect(run.events.withLock { $0 } == [.waitingForClick])
            #expect(try run.probe.fault(drawn) == nil)
        }

        @Test(arguments: [
            PixelRect(x: 300, y: 0, width: 21, height: 10), PixelRect(x: -1, y: 0, width: 10, height: 10),
            PixelRect(x: 0, y: 190, width: 10, height: 11), PixelRect(x: 0, y: 0, width: 0, height: 10),
            PixelRect(x: 0, y: 0, width: 10, height: -5), PixelRect(x: .max, y: .max, width: .max, height: .max),
            PixelRect(x: .min, y: .min, width: .max, height: .max),
        ])
        func refusesRegionsOutside(region: PixelRect) {
            let error = refusal(ScreenRun.configuration(screen) { $0.region = region })
            #expect(error?.code == .invalidConfiguration, "\(error.map(String.init(describing:)) ?? "accepted")")
        }

        @Test func refusesOtherPixelFormats() {
            for format in [PixelFormat.mjpeg, .yuy2, .rgb24] {
                #expect(
                    refusal(ScreenRun.configuration(screen) { $0.pixelFormat = format })?.code == .formatUnsupported)
            }
        }
    }
}
