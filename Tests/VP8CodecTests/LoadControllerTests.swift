import Testing
import VideoCapturing

@testable import VP8Codec

@Suite struct LoadControllerTests {
    /// A machine on which a frame costs `cost` milliseconds at the first rung, driven at 30 frames per second less
    /// what the ladder asks for.
    private struct Machine {
        var ladder = LoadController(vp8Speed: -6)
        var time = MediaTime.zero
        var changes: [(time: MediaTime, speed: Int, rate: Double, pixels: Double)] = []

        mutating func run(seconds: Double, cost milliseconds: Double) {
            let end = time.advanced(by: .nanoseconds(Int64(seconds * 1e9)))
            while time < end {
                let rung = ladder.rung
                let interval = Duration.nanoseconds(Int64(1e9 / 30 / rung.ratePart))
                let perFrame = milliseconds * rung.cost / rung.ratePart
                if ladder.add(encodeTime: .nanoseconds(Int64(perFrame * 1e6)), interval: interval, at: time) {
                    changes.append((time, ladder.rung.speed, ladder.rung.ratePart, ladder.rung.pixelPart))
                }
                time = time.advanced(by: interval)
            }
        }
    }

    @Test func restsWhileTheMachineKeepsUp() {
        var machine = Machine()
        machine.run(seconds: 60, cost: 25)
        #expect(machine.changes.isEmpty)
    }

    @Test func aShortPeakChangesNothing() {
        var machine = Machine()
        machine.run(seconds: 10, cost: 10)
        machine.run(seconds: 0.5, cost: 60)
        machine.run(seconds: 10, cost: 10)
        #expect(machine.changes.isEmpty)
    }

    @Test func becomesFasterBeforeItShowsLess() {
        var machine = Machine()
        machine.run(seconds: 60, cost: 200)
        #expect(machine.changes.map(\.speed) == [-8, -10, -12, -12, -12, -12, -12])
        #expect(machine.changes.map(\.rate) == [1, 1, 1, 2.0 / 3, 0.5, 0.5, 0.5])
        #expect(machine.changes.map(\.pixels) == [1, 1, 1, 1, 1, 0.5625, 0.25])
    }

    @Test func settlesWithoutSwinging() {
        var machine = Machine()
        machine.run(seconds: 30, cost: 36)
        let settled = machine.changes.count
        machine.run(seconds: 300, cost: 36)
        #expect(settled > 0)
        #expect(machine.changes.count - settled <= 1)
    }

    @Test func recoversStepByStep() {
        var machine = Machine()
        machine.run(seconds: 30, cost: 60)
        #expect(machine.ladder.rung.cost < 1)
        machine.run(seconds: 120, cost: 5)
        #expect(machine.ladder.rung.speed == -6)
        #expect(machine.ladder.rung.ratePart == 1)
        let back = machine.changes.drop { $0.time < MediaTime(nanoseconds: 30_000_000_000) }
        for (first, second) in zip(back, back.dropFirst()) { #expect(second.time - first.time >= .seconds(5)) }
    }

    @Test func asksForWhatTheRungSays() {
        var machine = Machine()
        machine.run(seconds: 60, cost: 200)
        let wants = machine.ladder.wants(frameRate: 30, pixelCount: 640 * 480)
        #expect(wants.maximumFrameRate == 15)
        #expect(wants.maximumPixelCount == 320 * 240)
        #expect(LoadController(vp8Speed: -6).wants(frameRate: 30, pixelCount: 640 * 480) == CaptureWants())
    }
}
