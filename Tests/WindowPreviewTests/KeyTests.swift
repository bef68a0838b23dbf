import TestTools
import Testing
import VideoCapturing
import WindowPreview
import XTestTools

extension WindowPreviewTests {
    /// Keys, pressed through XTEST.
    @Suite struct KeyTests {
        private let screen: VirtualScreen
        private let run: PreviewRun
        private let place = PixelRect(x: 0, y: 0, width: 64, height: 48)

        init() throws {
            screen = try VirtualScreen(width: 160, height: 120)
            run = try PreviewRun(screen, first: try Quarters.standard.frame(number: 7))
        }

        @Test func pausesAndGoesOnWithTheNewest() throws {
            try run.client.type(Key.space)
            #expect(run.events.wait(for: "paused true"))
            for color: UInt32 in [0x800000, 0x008000] { run.show(try Quarters.plain(color).frame()) }
            try run.fence()
            #expect(try run.fault(.standard, in: place) == nil)
            #expect(run.preview.statistics.framesShown == 1)
            // The frozen frame follows the window all the same.
            try run.client.configure(run.window, PixelRect(x: 0, y: 0, width: 128, height: 96))
            #expect(try run.fault(.standard, in: PixelRect(x: 0, y: 0, width: 128, height: 96)) == nil)

            try run.client.type(Key.space)
            #expect(run.events.wait(for: "paused false"))
            #expect(try run.fault(.plain(0x008000), in: PixelRect(x: 0, y: 0, width: 128, height: 96)) == nil)
            #expect(run.preview.statistics.framesShown == 2)
            #expect(run.preview.statistics.framesReplaced == 1)
        }

        @Test func fillsTheScreenAndLeavesIt() throws {
            try run.client.configure(run.window, PixelRect(x: 20, y: 10, width: 64, height: 48))
            try run.client.point(atX: 30, y: 20)
            for key in [Key.escape, Key.f] {
                try run.client.type(Key.f)
                #expect(try run.fault(.standard, in: PixelRect(x: 0, y: 0, width: 160, height: 120)) == nil)
                try run.client.type(key)
                #expect(try run.fault(.standard, in: PixelRect(x: 20, y: 10, width: 64, height: 48)) == nil)
                #expect(
                    try run.fault(
                        blackAround: PixelRect(x: 20, y: 10, width: 64, height: 48),
                        in: PixelRect(x: 0, y: 0, width: 160, height: 120)) == nil)
            }
            // Esc leaves full screen, and does nothing else.
            try run.client.type(Key.escape)
            try run.fence()
            #expect(
                run.events.names == ["fullScreen true", "fullScreen false", "fullScreen true", "fullScreen false"])
        }

        @Test func showsStatisticsOverThePicture() throws {
            try run.client.configure(run.window, PixelRect(x: 0, y: 0, width: 160, height: 120))
            let whole = PixelRect(x: 0, y: 0, width: 160, height: 120)
            #expect(try run.fault(.standard, in: whole) == nil)
            func whitePixels() throws -> Int { try run.client.screenPixels().words.count { $0 == 0xFFFFFF } }
            #expect(try whitePixels() == 0)
            try run.client.type(Key.i)
            #expect(try eventually { try whitePixels() > 100 })
            // The rest of the picture is as it was.
            let pixels = try run.client.screenPixels()
            #expect(pixels[150, 110] != 0xFFFFFF && pixels[150, 110] != 0)
            try run.client.type(Key.i)
            #expect(try run.fault(.standard, in: whole) == nil)
            #expect(try whitePixels() == 0)
            #expect(run.events.names == ["statistics true", "statistics false"])
            #expect(run.preview.statistics.framesShown == 1)
        }

        @Test func reportsStillsOfTheFrameThatIsShown() throws {
            try run.client.type(Key.s)
            #expect(eventually { run.events.stills.count == 1 })
            #expect(run.events.stills.first?.sequenceNumber == 7)
        }

        @Test func leavesQuittingToTheProgram() throws {
            try run.client.type(Key.q)
            #expect(run.events.wait(for: "quit"))
            try run.fence()
            #expect(run.preview.isOpen)
            run.show(try Quarters.plain(0x123456).frame())
            #expect(try run.fault(.plain(0x123456), in: place) == nil)
            run.preview.close()
            #expect(!run.preview.isOpen)
            #expect(try !run.client.topLevelWindows().contains(run.window))
            #expect(run.events.names == ["quit"])
        }

        @Test func leavesKeysWithModifiersToOthers() throws {
            try run.client.type(Key.q, with: Key.control)
            try run.client.type(Key.space, with: Key.control)
            try run.fence()
            #expect(run.events.names.isEmpty)
        }
    }

    /// Full screen where there is a window manager, whose part this client plays.
    @Suite struct WindowManagerTests {
        @Test func asksTheWindowManagerForFullScreen() throws {
            let screen = try VirtualScreen(width: 160, height: 120)
            let manager = try WindowManager(try XClient(screen))
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            try run.client.type(Key.f)
            #expect(try manager.waitForRequest(of: run.window) == [1, manager.fullScreen])
            // It is not done before the manager has done it.
            try run.fence()
            #expect(run.events.names.isEmpty)
            try manager.setFullScreen(run.window, true)
            #expect(run.events.wait(for: "fullScreen true"))
            #expect(try run.fault(.standard, in: PixelRect(x: 0, y: 0, width: 160, height: 120)) == nil)
            try run.client.type(Key.escape)
            #expect(try manager.waitForRequest(of: run.window) == [0, manager.fullScreen])
            try manager.setFullScreen(run.window, false)
            #expect(run.events.wait(for: "fullScreen false"))
        }
    }
}
