import Testing
import VideoCapturing

@testable import MotionDetection

/// What changes, and is no motion.
@Suite struct FalseAlarmTests {
    @Test(arguments: [0.5, 2, 4])
    func noiseIsNoMotion(noise: Double) throws {
        var player = Player()
        player.scene.noise = noise
        try player.play(100, rate: 5)
        #expect(player.events.isEmpty)
    }

    /// From dark to full light in an hour, with the noise of a camera; one picture per second.
    @Test func dawnIsNoMotion() throws {
        var player = Player()
        try player.play(3600, rate: 1) { scene, time in
            scene.gain = 0.1 + 1.1 * time / 3600
            scene.offset = 16 * (1 - scene.gain)
        }
        #expect(player.events.isEmpty)
        #expect(player.findings[.lightChanged] == nil, "it is followed, not excused")
    }

    @Test func aCloudIsNoMotionAndHidesNone() throws {
        var player = Player()
        try player.play(4)
        try player.play(20) { scene, time in scene.gain = 1 - 0.5 * abs(1 - abs(time / 5 - 2)) }
        #expect(player.events.isEmpty)
        try player.play(3) { scene, time in
            scene.gain = 1 - 0.1 * time
            scene.things = [
                Scene.Thing(
                    region: MotionRegion(x: 0.1 + time / 5, y: 0.4, width: 0.13, height: 0.17), contrast: 60)
            ]
        }
        #expect(player.events.count == 1)
    }

    // In the last, a part of the picture becomes black.
    @Test(arguments: [(0.5, 0.0), (1.0, 40.0), (0.3, 10.0), (1.4, 0.0), (1.0, -80.0)])
    func aSwitchedLightIsNoMotion(gain: Double, offset: Double) throws {
        var player = Player()
        try player.play(4)
        for number in 0..<6 {
            (player.scene.gain, player.scene.offset) = number % 2 == 0 ? (gain, offset) : (1, 0)
            try player.play(4)
        }
        #expect(player.events.isEmpty)
        // And motion is seen in the new light.
        player.scene.things = [
            Scene.Thing(region: MotionRegion(x: 0.3, y: 0.3, width: 0.2, height: 0.2), contrast: 60)
        ]
        try player.play(1)
        #expect(player.events.count == 1)
    }

    @Test(arguments: [0.2, 0.6, 1.5, 3])
    func aShakenCameraIsNoMotion(reach: Double) throws {
        var player = Player(Scene(PixelSize(width: 64, height: 36)))
        try player.play(4)
        // Wind, for some seconds, again and again.
        for _ in 0..<4 {
            try player.play(3) { scene, time in
                let picture = Int((time * 10).rounded())
                scene.shift = (
                    reach * [0, 0.7, 1, 0.3, -0.6, -1, -0.4][picture % 7], reach * [0.2, -0.8, 0.5][picture % 3]
                )
            }
            player.scene.shift = (0, 0)
            try player.play(3)
        }
        #expect(player.events.isEmpty, "\(player.findings)")
    }

    @Test func aTurnedCameraIsNoMotion() throws {
        var player = Player(Scene(PixelSize(width: 64, height: 36)))
        try player.play(4)
        try player.play(1) { scene, time in scene.shift = (9 * time, 4 * time) }
        try player.play(5)
        #expect(player.events.isEmpty, "\(player.findings)")
    }

    @Test func somethingThatMovesBeforeAShakenCameraIsSeen() throws {
        func shake(_ scene: inout Scene, _ time: Double) {
            let picture = Int((time * 10).rounded())
            scene.shift = ([0.15, -0.15, 0][picture % 3], [0.1, -0.1][picture % 2])
        }
        var player = Player(Scene(PixelSize(width: 64, height: 36)))
        try player.play(4)
        try player.play(10, shake)
        #expect(player.events.isEmpty)
        try player.play(4) { scene, time in
            shake(&scene, time)
            scene.things = [
                Scene.Thing(
                    region: MotionRegion(x: 0.1 + time / 6, y: 0.4, width: 0.2, height: 0.3), contrast: 90)
            ]
        }
        #expect(player.events.first?.kind == .began)
    }

    @Test func aSinglePictureIsNoMotion() throws {
        var player = Player()
        try player.play(4)
        for _ in 0..<10 {
            player.scene.things = [
                Scene.Thing(region: MotionRegion(x: 0.3, y: 0.3, width: 0.3, height: 0.3), contrast: 60)
            ]
            try player.play(0.1)
            player.scene.things = []
            try player.play(1)
        }
        #expect(player.events.isEmpty, "a damaged picture, a flash")
    }

    @Test func somethingThatFlickersIsBackgroundAfterAWhile() throws {
        var player = Player()
        try player.play(300) { scene, time in
            let isOn = Int((time * 10).rounded()) % 3 != 0
            scene.things = [
                Scene.Thing(
                    region: MotionRegion(x: 0.3, y: 0.3, width: 0.2, height: 0.2), contrast: isOn ? 30 : 0)
            ]
        }
        #expect(player.events.count <= 2 && player.events.last?.kind != .began, "\(player.events)")
    }
}
