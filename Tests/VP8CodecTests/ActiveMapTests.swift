import Testing
import VideoCapturing

@testable import VP8Codec

@Suite struct ActiveMapTests {
    /// A map in which nothing is left to do.
    private func quiet(_ width: Int, _ height: Int) -> ActiveMap {
        var map = ActiveMap(width: width, height: height, minimumQuantizer: 10)
        map.recordCoded(quantizer: 10, isKeyFrame: true)
        map.prepare(isIdle: true)
        map.hasChanged = false
        return map
    }

    /// The blocks that a frame has which changes nothing itself.
    private func active(_ map: inout ActiveMap) -> [Int] {
        map.prepare(isIdle: true)
        return map.cells.indices.filter { map.cells[$0] == 1 }
    }

    @Test(arguments: [(16, 16, 1, 1), (17, 16, 2, 1), (353, 287, 23, 18), (2, 2, 1, 1), (1920, 1080, 120, 68)])
    func coversThePicture(width: Int, height: Int, columns: Int, rows: Int) {
        let map = ActiveMap(width: width, height: height, minimumQuantizer: 10)
        #expect(map.columns == columns && map.rows == rows)
        #expect(map.cells == [UInt8](repeating: 1, count: columns * rows))
        #expect(map.activeCount == columns * rows && map.hasChanged)
    }

    @Test func damageIsPadded() {
        // 4 × 3 blocks.
        func marked(_ rects: PixelRect...) -> [Int] {
            var map = quiet(64, 48)
            map.mark(rects)
            let blocks = active(&map)
            #expect(map.activeCount == blocks.count)
            #expect(map.hasChanged == (map.activeCount > 0))
            return blocks
        }
        #expect(marked(PixelRect(x: 19, y: 19, width: 10, height: 10)) == [5])
        #expect(marked(PixelRect(x: 18, y: 19, width: 10, height: 10)) == [4, 5])
        #expect(marked(PixelRect(x: 19, y: 19, width: 10, height: 11)) == [5, 9])
        #expect(marked(PixelRect(x: 0, y: 0, width: 64, height: 48)).count == 12)
        #expect(
            marked(PixelRect(x: 0, y: 0, width: 1, height: 1), PixelRect(x: 63, y: 47, width: 1, height: 1)) == [0, 11])
        #expect(marked().isEmpty)
    }

    @Test func anyRectangleIsTaken() {
        func marked(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> [Int] {
            var map = quiet(64, 48)
            map.mark([PixelRect(x: x, y: y, width: width, height: height)])
            return active(&map)
        }
        #expect(marked(5, 5, 0, 9).isEmpty)
        #expect(marked(5, 5, 9, -1).isEmpty)
        #expect(marked(-100, -100, 101, 101) == [0])
        #expect(marked(60, 44, 1000, 1000) == [11])
        #expect(marked(1000, 0, 5, 5).isEmpty)
        #expect(marked(-1000, 0, 5, 5).isEmpty)
        // It ends one pixel before the picture, and is padded.
        #expect(marked(.min, .min, .max, .max) == [0])
        #expect(marked(.max, 0, .max, 1).isEmpty)
        #expect(marked(0, 0, .max, .max).count == 12)
        #expect(marked(.min, 0, .max - 2, 1).isEmpty)
    }

    @Test func aBlockIsActiveUntilItIsSharp() {
        var map = quiet(64, 48)
        map.mark([PixelRect(x: 20, y: 20, width: 4, height: 4)])
        for quantizer in [40, 30, 20, 13, 12, 11] {
            #expect(active(&map) == [5])
            map.recordCoded(quantizer: quantizer, isKeyFrame: false)
        }
        #expect(active(&map) == [5])
        map.hasChanged = false
        map.recordCoded(quantizer: 10, isKeyFrame: false)
        #expect(map.activeCount == 0 && active(&map).isEmpty && map.hasChanged)
        // The coarse codings of others are none of its business.
        map.mark([PixelRect(x: 40, y: 20, width: 4, height: 4)])
        #expect(active(&map) == [6])
        map.recordCoded(quantizer: 50, isKeyFrame: false)
        #expect(active(&map) == [6])
    }

    @Test func whatIsLegibleWaitsForAFrameThatChangesNothing() {
        var map = quiet(64, 48)
        map.mark([PixelRect(x: 20, y: 20, width: 4, height: 4)])
        map.prepare(isIdle: false)
        #expect(map.cells[5] == 1)
        map.recordCoded(quantizer: 12, isKeyFrame: false)
        #expect(map.activeCount == 1)
        for _ in 0..<(ActiveMap.longestDelay - 1) {
            map.prepare(isIdle: false)
            #expect(map.cells[5] == 0)
            // Not coded, so it makes no progress.
            map.recordCoded(quantizer: 10, isKeyFrame: false)
            #expect(map.activeCount == 1)
        }
        // But not for ever.
        map.prepare(isIdle: false)
        #expect(map.cells[5] == 1)
        map.prepare(isIdle: true)
        #expect(map.cells[5] == 1)
        map.recordCoded(quantizer: 10, isKeyFrame: false)
        #expect(map.activeCount == 0)
    }

    @Test func theFinestQuantizerIsSharpEnough() {
        var map = ActiveMap(width: 16, height: 16, minimumQuantizer: 25)
        map.recordCoded(quantizer: 26, isKeyFrame: true)
        #expect(map.activeCount == 1)
        map.recordCoded(quantizer: 25, isKeyFrame: false)
        #expect(map.activeCount == 0)
    }

    @Test func aBlockRestsWithoutProgressAndIsTakenUpAgain() {
        var map = quiet(64, 48)
        map.mark([PixelRect(x: 20, y: 20, width: 4, height: 4)])
        map.prepare(isIdle: true)
        map.recordCoded(quantizer: 50, isKeyFrame: false)
        for _ in 0..<(ActiveMap.timeout - 1) {
            map.recordCoded(quantizer: 51, isKeyFrame: false)
            #expect(active(&map) == [5])
        }
        map.recordCoded(quantizer: 50, isKeyFrame: false)
        #expect(map.activeCount == 0)
        map.prepare(isIdle: true)
        map.recordCoded(quantizer: 47, isKeyFrame: false)
        #expect(map.activeCount == 0)
        map.recordCoded(quantizer: 46, isKeyFrame: false)
        #expect(active(&map) == [5])
        map.recordCoded(quantizer: 10, isKeyFrame: false)
        #expect(map.activeCount == 0)
        map.recordCoded(quantizer: 10, isKeyFrame: false)
        #expect(map.activeCount == 0)
    }

    @Test func aCoarseKeyFrameWakesAll() {
        var map = quiet(64, 48)
        map.recordCoded(quantizer: 40, isKeyFrame: true)
        #expect(map.activeCount == 12)
        map.recordCoded(quantizer: 10, isKeyFrame: true)
        #expect(map.activeCount == 0)
    }

    @Test func unknownDamageIsAll() {
        var map = quiet(64, 48)
        map.mark(nil)
        #expect(map.activeCount == 12 && active(&map).count == 12 && map.hasChanged)
    }
}
