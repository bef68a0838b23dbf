import TestTools
import Testing
import VideoCapturing

@testable import MotionDetection

/// What moves, and is seen.
@Suite struct MotionAnalyzerTests {
    /// An object of 2 % of the picture that crosses it.
    private static func object(_ progress: Double, y: Double, contrast: Double) -> Scene.Thing {
        Scene.Thing(
            region: MotionRegion(x: progress * 1.2 - 0.1, y: y, width: 0.125, height: 0.17), contrast: contrast)
    }

    @Test(arguments: [5.0, 10, 15, 30])
    func missesNoneOf25Movements(rate: Double) throws {
        var player = Player()
        try player.play(3, rate: rate)
        for number in 0..<25 {
            let y = 0.1 + 0.7 * Double(number % 7) / 7
            let contrast = (number % 2 == 0 ? 1.0 : -1) * (22 + Double(number))
            let start = player.now
            try player.play(1.6, rate: rate) { scene, time in
                let progress = number % 3 == 0 ? 1 - time / 1.6 : time / 1.6
                scene.things = [Self.object(progress, y: y, contrast: contrast)]
            }
            let end = player.now
            player.scene.things = []
            try player.play(2.6, rate: rate)
            let events = player.events.suffix(2)
            #expect(player.events.count == 2 * number + 2, "movement \(number)")
            #expect(events.map(\.kind) == [.began, .ended], "movement \(number)")
            #expect(events.allSatisfy { $0.start >= start && $0.lastMotion < end }, "movement \(number)")
        }
    }

    @Test func saysWhereAndHowMuch() throws {
        var player = Player(Scene(PixelSize(width: 80, height: 45)))
        try player.play(2)
        let region = MotionRegion(x: 0.5, y: 0.2, width: 0.2, height: 0.3)
        player.scene.things = [Scene.Thing(region: region, contrast: 60)]
        try player.play(1)
        let event = try #require(player.events.first)
        #expect(abs(event.area - 0.06) < 0.01)
        #expect(abs(event.region.x - 0.5) < 0.03 && abs(event.region.width - 0.2) < 0.04)
        #expect(abs(event.region.y - 0.2) < 0.04 && abs(event.region.height - 0.3) < 0.05)
        #expect(event.start == MediaTime(nanoseconds: 3_000_000_000))
    }

    @Test func seesSlowObjects() throws {
        // A cell in two seconds: a snail that needs a minute.
        var player = Player()
        try player.play(3)
        try player.play(40, rate: 5) { scene, time in
            scene.things = [
                Scene.Thing(
                    region: MotionRegion(x: 0.2 + time / 64, y: 0.3, width: 0.16, height: 0.3), contrast: 50)
            ]
        }
        #expect(player.events.first?.kind == .began)
    }

    @Test func whatStopsIsBackgroundAfterAWhile() throws {
        var player = Player(Scene(), MotionSettings(stationaryTime: .seconds(5)))
        try player.play(3)
        player.scene.things = [
            Scene.Thing(region: MotionRegion(x: 0.3, y: 0.3, width: 0.3, height: 0.3), contrast: 50)
        ]
        try player.play(10)
        #expect(player.events.map(\.kind) == [.began, .ended], "it stands still")
        // It belongs to the picture: its leaving is motion, its standing is not.
        try player.play(20)
        #expect(player.events.count == 2)
        player.scene.things = []
        try player.play(1)
        #expect(player.events.count == 3)
    }

    @Test func watchesZonesOnly() throws {
        let left = MotionRegion(x: 0, y: 0, width: 0.5, height: 1)
        let samples = (0..<16).map { UInt8($0 % 4 < 2 ? 255 : 0) }
        let masked = MotionSettings(mask: try MotionMask(size: PixelSize(width: 4, height: 4), samples: samples))
        let zones = [
            MotionSettings(watchedZones: [left]),
            MotionSettings(ignoredZones: [MotionRegion(x: 0.5, y: 0, width: 0.5, height: 1)]), masked,
        ]
        for settings in zones {
            var player = Player(Scene(), settings)
            try player.play(3)
            try player.play(3) { scene, time in
                scene.things = [Self.object(0.5 + time / 6, y: 0.4, contrast: 60)]
            }
            player.scene.things = []
            try player.play(3)
            #expect(player.events.isEmpty)
            try player.play(1) { scene, time in scene.things = [Self.object(time / 3, y: 0.4, contrast: 60)] }
            #expect(player.events.count == 1)
        }
    }

    @Test func aSmallZoneNeedsNoLargeObject() throws {
        let door = MotionRegion(x: 0.1, y: 0.1, width: 0.1, height: 0.15)
        var player = Player(Scene(), MotionSettings(minimumArea: 0.2, watchedZones: [door]))
        try player.play(3)
        player.scene.things = [Scene.Thing(region: door, contrast: 60)]
        try player.play(1)
        #expect(player.events.count == 1)
    }

    @Test func sensitivityDecidesAboutFaintObjects() throws {
        for (sensitivity, expected) in [(0.0, 0), (1.0, 1)] {
            var player = Player(Scene(), MotionSettings(sensitivity: sensitivity))
            player.scene.noise = 0.3
            try player.play(4)
            player.scene.things = [
                Scene.Thing(region: MotionRegion(x: 0.3, y: 0.3, width: 0.3, height: 0.3), contrast: 8)
            ]
            try player.play(1)
            #expect(player.events.count == expected)
        }
    }

    @Test func damageIsMotion() {
        var analyzer = MotionAnalyzer()
        let size = PixelSize(width: 1920, height: 1080)
        var now = MediaTime.zero
        var events: [MotionEvent] = []
        func show(_ damage: [PixelRect], _ orientation: VideoOrientation = .up) {
            now += .milliseconds(100)
            let observation = analyzer.analyze(damage: damage, of: size, orientation: orientation, at: now)
            if let event = observation.event { events.append(event) }
        }
        for _ in 0..<30 { show([PixelRect(x: 500, y: 500, width: 2, height: 20)]) }
        #expect(events.isEmpty, "a cursor blinks")
        for _ in 0..<3 { show([PixelRect(x: 960, y: 0, width: 960, height: 540)], .left) }
        #expect(events.count == 1)
        #expect(events.first?.region == MotionRegion(x: 0.5, y: 0.5, width: 0.5, height: 0.5))
        for _ in 0..<30 { show([]) }
        #expect(events.map(\.kind) == [.began, .ended])
    }

    @Test func anEventEndsWithoutFurtherPictures() throws {
        var player = Player()
        try player.play(3)
        player.scene.things = [Self.object(0.5, y: 0.3, contrast: 60)]
        try player.play(1)
        #expect(player.analyzer.finish()?.kind == .ended)
        #expect(player.analyzer.finish() == nil)
    }

    @Test func timesThatGoBackBeginAgain() throws {
        var player = Player()
        try player.play(3)
        player.scene.things = [Self.object(0.5, y: 0.3, contrast: 60)]
        try player.play(1)
        player.now = .zero
        try player.play(1)
        #expect(player.events.map(\.kind) == [.began, .ended])
        #expect(player.findings[.learning]! > 15)
    }
}
