import SDLPreview
import TestTools
import Testing
import VideoCapturing
import WindowPreview
import XTestTools

extension WindowPreviewTests {
    /// Windows by SDL on a compositor: pixels as grim sees them, keys as wtype presses them.
    @Suite struct WaylandTests {
        private let place = PixelRect(x: 0, y: 0, width: 64, height: 48)

        @Test(arguments: [SDLRendering.software, .accelerated])
        func showsEveryFormatMatrixAndTurn(_ rendering: SDLRendering) throws {
            let compositor = try Compositor()
            var quarters = Quarters.standard
            let run = try WaylandRun(compositor, first: try quarters.frame(), rendering)
            #expect(try run.fault(quarters, in: place, within: 4) == nil)
            let all: [ColorDescription] = [.bt709, .jpeg, ColorDescription(matrix: .bt709, range: .full), .bt601]
            for format in PixelFormat.allCases {
                for color in [.nv12, .i420].contains(format) ? all : [.assumed(for: format)] {
                    // Other than the last one, so that what is old is not taken for new.
                    quarters = quarters.rotated
                    run.show(try quarters.frame(format, color: color))
                    let fault = try run.fault(quarters, in: place, within: 6)
                    #expect(fault == nil, "\(format) \(color)")
                }
            }
            for orientation in VideoOrientation.allCases {
                for isMirrored in [false, true] {
                    quarters = quarters.rotated
                    let swaps = orientation.swapsDimensions
                    run.show(
                        try quarters.frame(
                            width: swaps ? 48 : 64, height: swaps ? 64 : 48, orientation: orientation,
                            isMirrored: isMirrored))
                    let upright = quarters.turned(by: orientation)
                    let fault = try run.fault(isMirrored ? upright.mirrored : upright, in: place, within: 6)
                    #expect(fault == nil, "\(orientation) \(isMirrored)")
                }
            }
            #expect(run.preview.statistics.framesFailed == 0)
        }

        @Test(arguments: [SDLRendering.software, .accelerated])
        func followsTheSizesOfWindowAndCapture(_ rendering: SDLRendering) throws {
            let compositor = try Compositor(width: 300, height: 200)
            var quarters = Quarters.standard
            let run = try WaylandRun(compositor, first: try quarters.frame(), rendering)
            for (width, height, place) in [
                (200, 48, PixelRect(x: 68, y: 0, width: 64, height: 48)),
                (280, 180, PixelRect(x: 20, y: 0, width: 240, height: 180)),
                (131, 97, PixelRect(x: 1, y: 0, width: 129, height: 97)),
            ] {
                try compositor.perform("[title=\"test a\"] resize set \(width) \(height), move absolute position 0 0")
                let outer = PixelRect(x: 0, y: 0, width: width, height: height)
                #expect(try run.fault(quarters, in: place, within: 6) == nil, "\(width)x\(height)")
                #expect(try run.fault(blackAround: place, in: outer) == nil, "\(width)x\(height)")
            }
            #expect(run.preview.statistics.framesShown == 1)
            #expect(run.preview.statistics.windowSize == PixelSize(width: 131, height: 97))

            try compositor.perform("[title=\"test a\"] resize set 120 120, move absolute position 0 0")
            let outer = PixelRect(x: 0, y: 0, width: 120, height: 120)
            for (width, height, place) in [
                (40, 20, PixelRect(x: 0, y: 30, width: 120, height: 60)),
                (480, 960, PixelRect(x: 30, y: 0, width: 60, height: 120)),
                (120, 120, outer),
            ] {
                quarters = quarters.rotated
                run.show(try quarters.frame(width: width, height: height))
                #expect(try run.fault(quarters, in: place, within: 6) == nil, "\(width)x\(height)")
                #expect(try run.fault(blackAround: place, in: outer) == nil, "\(width)x\(height)")
            }
        }

        /// One pixel of the frame is one of the screen, not a blurred block of them.
        @Test func drawsAllPixelsOfADenseScreen() throws {
            let compositor = try Compositor(width: 640, height: 400, scale: 2)
            let run = try WaylandRun(compositor, first: try Quarters.standard.frame(width: 128, height: 96)) {
                $0.size = PixelSize(width: 64, height: 48)
            }
            #expect(eventually { run.preview.statistics.windowSize == PixelSize(width: 128, height: 96) })
        }

        @Test func obeysKeys() throws {
            let compositor = try Compositor(width: 160, height: 120)
            let run = try WaylandRun(compositor, first: try Quarters.standard.frame(number: 7))
            let whole = PixelRect(x: 0, y: 0, width: 160, height: 120)
            #expect(try run.fault(.standard, in: place) == nil)
            try run.fence()
            #expect(run.events.stills.last?.sequenceNumber == 7)

            try compositor.type("space")
            #expect(run.events.wait(for: "paused true"))
            run.show(try Quarters.plain(0x008000).frame())
            try run.fence()
            #expect(run.preview.statistics.framesShown == 1)
            try compositor.type("space")
            #expect(try run.fault(.plain(0x008000), in: place) == nil)

            try compositor.type("f")
            #expect(try run.fault(.plain(0x008000), in: whole) == nil)
            try compositor.type("i")
            #expect(try eventually { try compositor.pixels().words.count { $0 == 0xFFFFFF } > 100 })
            try compositor.type("i")
            #expect(try run.fault(.plain(0x008000), in: whole) == nil)
            try compositor.type("Escape")
            #expect(run.events.wait(for: "fullScreen false"))
            try compositor.type("q", with: "ctrl")
            try compositor.type("q")
            #expect(run.events.wait(for: "quit"))
            #expect(
                run.events.names == [
                    "paused true", "paused false", "fullScreen true", "statistics true", "statistics false",
                    "fullScreen false", "quit",
                ])
            #expect(run.preview.isOpen)
        }

        @Test func closesOneOfTwoWindows() throws {
            let compositor = try Compositor()
            let first = try WaylandRun(compositor, first: try Quarters.standard.frame())
            let second = try WaylandRun(
                compositor, first: try Quarters.standard.rotated.frame(), .accelerated, title: "test b")
            let aside = PixelRect(x: 100, y: 20, width: 64, height: 48)
            try compositor.perform("[title=\"test b\"] move absolute position 100 20")
            #expect(try first.fault(.standard, in: place) == nil)
            #expect(try second.fault(Quarters.standard.rotated, in: aside, within: 4) == nil)

            try compositor.perform("[title=\"test a\"] kill")
            #expect(first.events.wait(for: "closed"))
            #expect(!first.preview.isOpen)
            #expect(try eventually { try compositor.windowTitles() == ["test b"] })
            second.show(try Quarters.plain(0x884422).frame())
            #expect(try second.fault(.plain(0x884422), in: aside, within: 4) == nil)
            #expect(second.events.names.isEmpty)
            second.preview.close()
            #expect(try eventually { try compositor.windowTitles().isEmpty })
        }

        @Test func restsWhileItIsOnAnotherDesktop() throws {
            let compositor = try Compositor()
            let run = try WaylandRun(compositor, first: try Quarters.standard.frame())
            let wants = WantsList()
            run.preview.connectFeedback(wants.feedback)
            #expect(try run.fault(.standard, in: place) == nil)
            #expect(eventually { wants.last != nil && wants.last?.maximumFrameRate == nil })
            try compositor.perform("workspace other")
            run.show(try Quarters.plain(0x800000).frame())
            #expect(eventually { wants.last?.maximumFrameRate == 1 })
            try compositor.perform("workspace back_and_forth")
            #expect(eventually { wants.last?.maximumFrameRate == nil })
            run.show(try Quarters.plain(0x008000).frame())
            #expect(try run.fault(.plain(0x008000), in: place) == nil)
        }
    }
}
