import TestTools
import Testing
import VideoCapturing
import WindowPreview
import XTestTools

/// All tests of windows, one at a time: they block while they wait, and servers take processor time.
@Suite(.serialized, .timeLimit(.minutes(10))) enum WindowPreviewTests {}

extension WindowPreviewTests {
    /// What is on the screen, read from its root window.
    @Suite struct PixelTests {
        private static let colors: [ColorDescription] = [
            .bt601, .bt709, .jpeg, ColorDescription(matrix: .bt709, range: .full),
        ]

        @Test func showsEveryFormatMatrixAndRange() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            var quarters = Quarters.standard
            let run = try PreviewRun(screen, first: try quarters.frame())
            let place = PixelRect(x: 0, y: 0, width: 64, height: 48)
            #expect(try run.fault(quarters, in: place) == nil)
            for format in PixelFormat.allCases {
                for color in format == .mjpeg ? [.jpeg] : format.isRGB ? [.assumed(for: format)] : Self.colors {
                    // Other than the last one, so that what is old is not taken for new.
                    quarters = quarters.rotated
                    run.show(try quarters.frame(format, color: color))
                    let fault = try run.fault(quarters, in: place, within: format == .mjpeg ? 6 : 3)
                    #expect(fault == nil, "\(format) \(color)")
                }
            }
            #expect(run.preview.statistics.framesFailed == 0)
        }

        @Test(arguments: VideoOrientation.allCases, [false, true])
        func showsItUprightAndMirrored(_ orientation: VideoOrientation, isMirrored: Bool) throws {
            let screen = try VirtualScreen(width: 80, height: 80)
            let frame = try Quarters.standard.frame(
                width: 64, height: 32, orientation: orientation, isMirrored: isMirrored)
            let run = try PreviewRun(screen, first: frame) { $0.size = PixelSize(width: 64, height: 64) }
            let upright = Quarters.standard.turned(by: orientation)
            let place =
                orientation.swapsDimensions
                ? PixelRect(x: 16, y: 0, width: 32, height: 64) : PixelRect(x: 0, y: 16, width: 64, height: 32)
            #expect(try run.fault(isMirrored ? upright.mirrored : upright, in: place) == nil)
            #expect(try run.fault(blackAround: place, in: PixelRect(x: 0, y: 0, width: 64, height: 64)) == nil)
        }

        @Test(arguments: [true, false]) func mirrorsAsConfigured(_ mirrors: Bool) throws {
            let screen = try VirtualScreen(width: 80, height: 80)
            let frame = try Quarters.standard.frame(isMirrored: !mirrors)
            let run = try PreviewRun(screen, first: frame) { $0.mirrors = mirrors }
            let shown = mirrors ? Quarters.standard.mirrored : .standard
            #expect(try run.fault(shown, in: PixelRect(x: 0, y: 0, width: 64, height: 48)) == nil)
        }

        @Test(arguments: [PixelFormat.nv12, .i420, .yuy2, .argb, .bgra, .rgb24, .mjpeg])
        func followsTheWindowsSize(_ format: PixelFormat) throws {
            let screen = try VirtualScreen(width: 300, height: 200)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame(format))
            // Wider, higher, larger, much smaller, odd.
            for (width, height, place) in [
                (200, 48, PixelRect(x: 68, y: 0, width: 64, height: 48)),
                (64, 100, PixelRect(x: 0, y: 26, width: 64, height: 48)),
                (280, 180, PixelRect(x: 20, y: 0, width: 240, height: 180)),
                (20, 15, PixelRect(x: 0, y: 0, width: 20, height: 15)),
                (131, 97, PixelRect(x: 1, y: 0, width: 129, height: 97)),
            ] {
                let outer = PixelRect(x: 0, y: 0, width: width, height: height)
                try run.client.configure(run.window, outer)
                #expect(try run.fault(.standard, in: place, within: 6) == nil, "\(width)x\(height)")
                #expect(try run.fault(blackAround: place, in: outer) == nil, "\(width)x\(height)")
            }
            let statistics = run.preview.statistics
            #expect(statistics.framesShown == 1)
            #expect(statistics.redraws >= 5)
            #expect(statistics.windowSize == PixelSize(width: 131, height: 97))
        }

        @Test func followsACaptureThatChangesSize() throws {
            let screen = try VirtualScreen(width: 200, height: 200)
            var quarters = Quarters.standard
            let run = try PreviewRun(screen, first: try quarters.frame(width: 120, height: 120))
            let outer = PixelRect(x: 0, y: 0, width: 120, height: 120)
            for (width, height, place) in [
                (40, 20, PixelRect(x: 0, y: 30, width: 120, height: 60)),
                (240, 480, PixelRect(x: 30, y: 0, width: 60, height: 120)),
                (120, 120, outer),
            ] {
                quarters = quarters.rotated
                run.show(try quarters.frame(width: width, height: height))
                #expect(try run.fault(quarters, in: place) == nil, "\(width)x\(height)")
                #expect(try run.fault(blackAround: place, in: outer) == nil, "\(width)x\(height)")
            }
        }

        @Test func opensAsLargeAsTheScreenAllows() throws {
            let screen = try VirtualScreen(width: 100, height: 100)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame(width: 400, height: 200))
            #expect(try run.fault(.standard, in: PixelRect(x: 0, y: 0, width: 100, height: 50)) == nil)
            #expect(run.preview.statistics.windowSize == PixelSize(width: 100, height: 50))
        }

        @Test(arguments: [16, 24, 30], [[], ["-extension", "MIT-SHM"]])
        func showsItOnScreensOf(depth: Int, _ options: [String]) throws {
            let screen = try VirtualScreen(width: 100, height: 80, depth: depth, options: options)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            let place = PixelRect(x: 0, y: 0, width: 64, height: 48)
            let tolerance = depth == 16 ? 8 : 3
            #expect(try run.fault(.standard, in: place, within: tolerance) == nil)
            run.show(try Quarters.standard.rotated.frame(.bgra))
            #expect(try run.fault(Quarters.standard.rotated, in: place, within: tolerance) == nil)
            // An odd width, whose rows are padded at 16 bits.
            try run.client.configure(run.window, PixelRect(x: 0, y: 0, width: 63, height: 60))
            #expect(
                try run.fault(
                    Quarters.standard.rotated, in: PixelRect(x: 0, y: 6, width: 63, height: 47), within: tolerance)
                    == nil)
            #expect(run.preview.statistics.usesSharedMemory == options.isEmpty)
        }

        @Test func sendsLargePicturesWithoutSharedMemory() throws {
            let screen = try VirtualScreen(width: 1280, height: 720, options: ["-extension", "MIT-SHM"])
            let run = try PreviewRun(screen, first: try Quarters.standard.frame(width: 1280, height: 720))
            let place = PixelRect(x: 0, y: 0, width: 1280, height: 720)
            #expect(try run.fault(.standard, in: place) == nil)
        }

        @Test func restoresWhatWasCovered() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            let place = PixelRect(x: 0, y: 0, width: 64, height: 48)
            #expect(try run.fault(.standard, in: place) == nil)
            let refreshes = run.preview.statistics.refreshes
            let cover = try run.client.cover(PixelRect(x: 8, y: 8, width: 30, height: 30))
            #expect(try run.client.screenPixels()[20, 20] == 0)
            try run.client.setMapped(cover, false)
            #expect(try run.fault(.standard, in: place) == nil)
            #expect(eventually { run.preview.statistics.refreshes > refreshes })
            #expect(run.preview.statistics.framesShown == 1)
        }
    }
}
