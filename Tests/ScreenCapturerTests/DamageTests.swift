import ScreenCapturer
import TestTools
import Testing
import VideoCapturing
import XTestTools

extension ScreenCapturerTests {
    /// What is said of changes is true, and not much more than true.
    @Suite struct DamageTests {
        private static let screen = Result { try VirtualScreen() }
        private let screen: VirtualScreen
        private let client: XClient
        private let window: XWindow

        init() throws {
            screen = try DamageTests.screen.get()
            client = try XClient(screen)
            window = try XWindow(client, PixelRect(x: 0, y: 0, width: 320, height: 200), color: 0xFF20_4060)
        }

        @Test func namesWhatChanged() throws {
            let run = try ScreenRun.running(screen)
            for step in 0..<30 {
                let (x, y) = (step * 37 % 304, step * 53 % 184)
                let before = run.probe.count
                try window.draw(Picture(width: 16, height: 16, seed: UInt32(step + 1)), x: x, y: y)
                #expect(run.probe.wait { $0.count > before })
                let damage = try #require(run.probe.last?.frame.damage)
                #expect(damage.reduce(0) { $0 + $1.width * $1.height } <= 32 * 32, "\(damage) for 16x16 at \(x), \(y)")
            }
            #expect(DamageTests.faults(run.probe.shots) == [])
        }

        @Test func namesPlacesFarApart() throws {
            let run = try ScreenRun.running(screen) { $0.frameRate = 10 }
            _ = run.settle()
            let before = run.probe.count
            for (x, y) in [(0, 0), (304, 0), (0, 184), (304, 184), (150, 90)] {
                try window.draw(Picture(width: 16, height: 16, seed: UInt32(x + y + 1)), x: x, y: y)
            }
            func area() -> Int {
                run.probe.shots[before...].flatMap { $0.frame.damage ?? [] }.reduce(0) { $0 + $1.width * $1.height }
            }
            // On a busy machine the places come in several frames.
            #expect(eventually { area() >= 5 * 16 * 16 })
            _ = run.settle()
            #expect(area() < 320 * 200 / 4, "\(area()) pixels are said to have changed")
            #expect(DamageTests.faults(run.probe.shots) == [])
        }

        /// A change in the corner of a region with odd sides.
        @Test(arguments: [
            PixelRect(x: 33, y: 21, width: 101, height: 67), PixelRect(x: 0, y: 0, width: 319, height: 199),
        ])
        func staysWithinTheRegion(region: PixelRect) throws {
            let run = try ScreenRun.running(screen) { $0.region = region }
            for step in 0..<12 {
                let x = region.x + region.width - 10 + step
                let y = region.y + region.height - 8 + step
                try window.draw(Picture(width: 9, height: 9, seed: UInt32(step + 1)), x: x, y: y)
                pause(.milliseconds(15))
            }
            _ = run.settle()
            #expect(DamageTests.faults(run.probe.shots) == [])
            #expect(run.probe.count > 1)
        }

        @Test func namesWhatAMovedWindowCovered() throws {
            let run = try ScreenRun.running(screen)
            let other = try XWindow(client, PixelRect(x: 10, y: 10, width: 50, height: 40), color: 0xFFC0_2080)
            var shown = Picture(width: 320, height: 200, color: 0xFF20_4060)
            shown.fill(PixelRect(x: 10, y: 10, width: 50, height: 40), 0xFFC0_2080)
            #expect(try run.probe.fault(shown) == nil)
            try other.move(x: 200, y: 120)
            shown.fill(PixelRect(x: 10, y: 10, width: 50, height: 40), 0xFF20_4060)
            shown.fill(PixelRect(x: 200, y: 120, width: 50, height: 40), 0xFFC0_2080)
            #expect(try run.probe.fault(shown) == nil)
            try other.unmap()
            shown.fill(PixelRect(x: 200, y: 120, width: 50, height: 40), 0xFF20_4060)
            #expect(try run.probe.fault(shown) == nil)
            #expect(DamageTests.faults(run.probe.shots) == [])
        }

        @Test(arguments: [PixelFormat.argb, .nv12])
        func sendsNothingWhenNothingChanges(format: PixelFormat) throws {
            let run = try ScreenRun.running(screen) {
                $0.pixelFormat = format
                $0.showsPointer = true
            }
            let count = run.settle()
            let fetched = run.capture.screenStatistics.pixelsFetched
            pause(.milliseconds(500))
            #expect(run.probe.count == count)
            #expect(run.capture.screenStatistics.pixelsFetched == fetched)
            #expect(run.capture.state == .running)
            // And goes on.
            try window.fill(PixelRect(x: 1, y: 1, width: 2, height: 2), 0xFFFF_0000)
            #expect(run.probe.wait { $0.count > count })
        }

        @Test func fetchesOnlyWhatChanged() throws {
            let run = try ScreenRun.running(screen)
            let before = run.capture.screenStatistics
            #expect(before.pixelsFetched >= 320 * 200)
            for step in 0..<10 {
                let count = run.probe.count
                try window.fill(PixelRect(x: step * 20, y: step * 10, width: 8, height: 8), 0xFF00_FF00)
                #expect(run.probe.wait { $0.count > count })
            }
            let after = run.capture.screenStatistics
            #expect(after.pixelsFetched - before.pixelsFetched <= 10 * 32 * 32)
            #expect(after.rectanglesFetched > before.rectanglesFetched)
            #expect(after.reconnects == 0)
        }

        /// What is wrong with the damage of ARGB frames: missing changes, odd edges, places outside.
        static func faults(_ shots: [ScreenProbe.Shot]) -> [String] {
            var faults: [String] = []
            for (last, next) in zip(shots, shots.dropFirst()) {
                let number = next.frame.sequenceNumber
                guard let damage = next.frame.damage else {
                    faults.append("frame \(number) does not say what changed")
                    continue
                }
                let picture = next.picture
                for rect in damage {
                    let inside = rect.intersection(picture.bounds) == rect && rect.width > 0 && rect.height > 0
                    // Even, but at the edge of a picture with odd sides.
                    let right = rect.x + rect.width
                    let bottom = rect.y + rect.height
                    let isEven =
                        rect.x % 2 == 0 && rect.y % 2 == 0 && (right % 2 == 0 || right == picture.width)
                        && (bottom % 2 == 0 || bottom == picture.height)
                    if !inside || !isEven { faults.append("frame \(number): \(rect)") }
                }
                var explained = last.picture
                for rect in damage { explained.draw(picture.cropped(to: rect), x: rect.x, y: rect.y) }
                if let box = picture.changes(from: explained) {
                    faults.append("frame \(number) says \(damage), but has changed within \(box)")
                }
            }
            return faults
        }
    }
}
