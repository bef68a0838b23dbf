import ScreenCapturer
import Testing
import VideoCapturing
import XTestTools

extension ScreenCapturerTests {
    /// The pointer is in the picture where it is on the screen, or not at all.
    @Suite struct PointerTests {
        private static let screen = Result { try VirtualScreen() }
        private let screen: VirtualScreen
        private let client: XClient
        private let window: XWindow
        private let shown = Picture(width: 320, height: 200, seed: 31)
        private let pointer: Picture

        /// A pointer with edges that are not opaque.
        init() throws {
            screen = try PointerTests.screen.get()
            client = try XClient(screen)
            window = try XWindow(client, shown.bounds)
            try window.draw(shown)
            var pointer = Picture(width: 15, height: 21, color: 0)
            pointer.fill(PixelRect(x: 2, y: 1, width: 9, height: 17), 0xFFF0_2040)
            pointer.fill(PixelRect(x: 4, y: 3, width: 3, height: 5), 0xFF00_FF00)
            pointer.fill(PixelRect(x: 11, y: 1, width: 2, height: 17), 0x8040_2010)
            self.pointer = pointer
            try client.setPointer(pointer, tipX: 3, tipY: 2, over: window)
            try client.movePointer(x: 100, y: 80)
        }

        /// The screen with the pointer's tip at a place.
        private func expected(_ x: Int, _ y: Int, on picture: Picture? = nil) -> Picture {
            var result = picture ?? shown
            for row in 0..<pointer.height {
                for column in 0..<pointer.width {
                    let (left, top) = (x - 3 + column, y - 2 + row)
                    guard result.bounds.contains(x: left, y: top) else { continue }
                    let over = pointer[column, row]
                    let under = result[left, top]
                    let rest = 255 - over >> 24
                    func mix(_ shift: UInt32) -> UInt32 {
                        min(255, (over >> shift & 255) + ((under >> shift & 255) * rest + 127) / 255)
                    }
                    result[left, top] = 0xFF00_0000 | mix(16) << 16 | mix(8) << 8 | mix(0)
                }
            }
            return result
        }

        /// What is wrong with the newest frame, when translucent pixels may be off by one or two; nil when nothing is.
        private func fault(_ run: ScreenRun, _ picture: Picture) -> String? {
            var seen = -1
            var worst = ""
            let hasCome = run.probe.wait { shots in
                guard shots.count != seen, let last = shots.last else { return false }
                seen = shots.count
                worst = distance(last.picture, picture)
                return worst.isEmpty
            }
            return hasCome ? nil : "frame \(seen): \(worst)"
        }

        private func distance(_ left: Picture, _ right: Picture) -> String {
            guard left.width == right.width, left.height == right.height else { return "another size" }
            guard let box = left.changes(from: right) else { return "" }
            for y in box.y..<box.y + box.height {
                for x in box.x..<box.x + box.width {
                    let (one, other) = (left[x, y], right[x, y])
                    for shift: UInt32 in [0, 8, 16, 24]
                    where abs(Int(one >> shift & 255) - Int(other >> shift & 255)) > 2 {
                        return "\(x), \(y) is \(String(one, radix: 16)), not \(String(other, radix: 16)); within \(box)"
                    }
                }
            }
            return ""
        }

        @Test func isDrawnWhereItIs() throws {
            let run = try ScreenRun.running(screen) { $0.showsPointer = true }
            #expect(fault(run, expected(100, 80)) == nil)
            // Over the edges of the screen, too.
            for (x, y) in [(101, 80), (33, 61), (0, 0), (319, 199), (319, 0), (5, 199)] {
                try client.movePointer(x: x, y: y)
                #expect(fault(run, expected(x, y)) == nil, "at \(x), \(y)")
            }
            #expect(DamageTests.faults(run.probe.shots) == [])
            #expect(run.probe.shots.allSatisfy { $0.isIntact })
        }

        @Test func isDrawnWhereAProgramPutIt() throws {
            let run = try ScreenRun.running(screen) { $0.showsPointer = true }
            try client.warpPointer(x: 200, y: 150)
            #expect(fault(run, expected(200, 150)) == nil)
        }

        /// A move changes two small places, and nothing has to be fetched of the rest.
        @Test func costsLittle() throws {
            let run = try ScreenRun.running(screen) { $0.showsPointer = true }
            #expect(fault(run, expected(100, 80)) == nil)
            _ = run.settle()
            let before = run.capture.screenStatistics.pixelsFetched
            for step in 1...10 {
                let count = run.probe.count
                try client.movePointer(x: 100 + 7 * step, y: 80 + 5 * step)
                #expect(run.probe.wait { $0.count > count })
            }
            #expect(fault(run, expected(170, 130)) == nil)
            #expect(run.capture.screenStatistics.pixelsFetched - before < 320 * 200 / 2)
            #expect(DamageTests.faults(run.probe.shots) == [])
        }

        @Test func isDrawnOverWhatChangesBeneath() throws {
            let run = try ScreenRun.running(screen) { $0.showsPointer = true }
            var under = shown
            for step in 0..<8 {
                let rect = PixelRect(x: 92 + step * 2, y: 70 + step * 3, width: 11, height: 7)
                try window.fill(rect, 0xFF00_0000 | Color(step) * 0x1F_1307)
                under.fill(rect, 0xFF00_0000 | Color(step) * 0x1F_1307)
                #expect(fault(run, expected(100, 80, on: under)) == nil, "step \(step)")
            }
            try client.movePointer(x: 10, y: 10)
            #expect(fault(run, expected(10, 10, on: under)) == nil)
            #expect(DamageTests.faults(run.probe.shots) == [])
        }

        @Test func changesItsShape() throws {
            let run = try ScreenRun.running(screen) { $0.showsPointer = true }
            #expect(fault(run, expected(100, 80)) == nil)
            let other = Picture(width: 9, height: 9, color: 0xFF10_20F0)
            try client.setPointer(other, tipX: 4, tipY: 4, over: window)
            var wanted = shown
            wanted.draw(other, x: 96, y: 76)
            #expect(fault(run, wanted) == nil)
            #expect(DamageTests.faults(run.probe.shots) == [])
        }

        @Test func isLeftOutWhenNotAskedFor() throws {
            let run = try ScreenRun.running(screen)
            #expect(try run.probe.fault(shown) == nil)
            let count = run.settle()
            for step in 1...5 {
                try client.movePointer(x: 100 + 10 * step, y: 80)
                pause(.milliseconds(20))
            }
            #expect(run.settle() == count)
            #expect(try run.probe.fault(shown) == nil)
        }

        @Test func isDrawnIntoRegions() throws {
            let region = PixelRect(x: 91, y: 71, width: 33, height: 21)
            let run = try ScreenRun.running(screen) {
                $0.showsPointer = true
                $0.region = region
            }
            for (x, y) in [(100, 80), (92, 73), (123, 91), (88, 69)] {
                try client.movePointer(x: x, y: y)
                #expect(fault(run, expected(x, y).cropped(to: region)) == nil, "at \(x), \(y)")
            }
            try client.movePointer(x: 250, y: 180)
            #expect(fault(run, shown.cropped(to: region)) == nil)
            // Far away it is of no interest.
            let count = run.settle()
            try client.movePointer(x: 260, y: 20)
            #expect(run.settle() == count)
        }

        @Test func isDrawnIntoWindows() throws {
            let drawn = Picture(width: 70, height: 50, seed: 32)
            let other = try XWindow(client, PixelRect(x: 51, y: 61, width: 70, height: 50))
            try other.draw(drawn)
            try client.setPointer(pointer, tipX: 3, tipY: 2, over: other)
            let run = try ScreenRun.running(screen, .window(other.id)) { $0.showsPointer = true }
            #expect(fault(run, expected(49, 19, on: drawn)) == nil)
            try client.movePointer(x: 60, y: 70)
            #expect(fault(run, expected(9, 9, on: drawn)) == nil)
            // The window moves beneath a pointer that rests.
            try other.move(x: 41, y: 51)
            #expect(fault(run, expected(19, 19, on: drawn)) == nil)
            try client.movePointer(x: 300, y: 190)
            #expect(fault(run, drawn) == nil)
        }

        /// NV12 shares chroma between pixels with the pointer and pixels without.
        @Test(arguments: [PixelFormat.nv12, .i420])
        func isDrawnInOtherFormats(format: PixelFormat) throws {
            var opaque = Picture(width: 7, height: 9, color: 0xFF20_F080)
            opaque[3, 3] = 0xFF00_00FF
            try client.setPointer(opaque, over: window)
            let run = try ScreenRun.running(screen) {
                $0.showsPointer = true
                $0.pixelFormat = format
            }
            for (x, y) in [(100, 80), (33, 41), (150, 100), (151, 101), (316, 196)] {
                try client.movePointer(x: x, y: y)
                var wanted = shown
                wanted.draw(opaque, x: x, y: y)
                #expect(try run.probe.fault(wanted, as: format) == nil, "at \(x), \(y)")
            }
            #expect(run.probe.shots.allSatisfy { $0.isIntact })
        }
    }
}
