import TestTools
import Testing
import VideoCapturing

@testable import MotionDetection

/// Nothing traps, whatever comes, and every observation is possible.
@Suite struct AnySequenceTests {
    private static let edges = [0, 1, -1, 7, 4096, .max, .min, .max - 1]

    private func check(_ observation: MotionObservation) {
        #expect((0...1).contains(observation.area))
        #expect((observation.region == nil) == (observation.area == 0))
        if let region = observation.region {
            #expect(region.x >= 0 && region.y >= 0 && region.x + region.width <= 1.0001)
            #expect(region.y + region.height <= 1.0001 && region.width > 0 && region.height > 0)
        }
        if let event = observation.event { #expect(event.lastMotion >= event.start || event.kind == .ended) }
    }

    private func settings(_ random: inout SeededRandom) -> MotionSettings {
        let values = [0.005, 0, 1, -3, 7, .nan, .infinity, -.infinity]
        func value() -> Double { values[Int(random.next() % 8)] }
        func region() -> MotionRegion { MotionRegion(x: value(), y: value(), width: value(), height: value()) }
        let durations: [Duration] = [.zero, .seconds(-1), .seconds(2), .nanoseconds(Int64.max), .seconds(Int64.max)]
        return MotionSettings(
            minimumArea: value(), sensitivity: value(), watchedZones: (0..<random.next() % 3).map { _ in region() },
            ignoredZones: (0..<random.next() % 3).map { _ in region() },
            mask: try? MotionMask(size: PixelSize(width: 3, height: 2), samples: [0, 255, 0, 255, 255, 255]),
            lightSwitchFraction: value(), minimumPictures: Self.edges[Int(random.next() % 8)],
            quietTime: durations[Int(random.next() % 5)], stationaryTime: durations[Int(random.next() % 5)])
    }

    @Test(arguments: 0..<40)
    func anyPlanesTimesAndDamage(seed: UInt64) throws {
        var random = SeededRandom(state: seed)
        var analyzer = MotionAnalyzer(settings(&random))
        var now = MediaTime.zero
        var sides = [1, 2, 3, 16, 17, 40].shuffled(using: &random)
        for step in 0..<120 {
            switch random.next() % 16 {
            case 0: now = MediaTime(nanoseconds: Int64(Self.edges[Int(random.next() % 8)]))
            case 1: sides.shuffle(using: &random)
            case 2: now += .seconds(Int64(random.next() % 100))
            default: now += .milliseconds(Int64(random.next() % 300))
            }
            let size = PixelSize(width: sides[0], height: sides[1])
            if step % 3 == 2 {
                func edge() -> Int { Self.edges[Int(random.next() % 8)] }
                let damage = (0..<random.next() % 4).map { _ in
                    PixelRect(x: edge(), y: edge(), width: edge(), height: edge())
                }
                let odd = random.next() % 8 == 0 ? PixelSize(width: edge(), height: edge()) : size
                check(
                    analyzer.analyze(
                        damage: damage, of: odd, orientation: VideoOrientation.allCases[step % 4], at: now))
                continue
            }
            let mode = random.next() % 4
            let samples = (0..<size.pixelCount).map { _ in
                mode == 0 ? UInt8(truncatingIfNeeded: random.next()) : UInt8(mode * 80)
            }
            check(analyzer.analyze(try LumaPlane(size: size, samples: samples), at: now))
        }
        _ = analyzer.finish()
    }

    @Test func anyFrames() throws {
        var random = SeededRandom(state: 7)
        let detector = MotionDetector(MotionSettings(minimumPictures: 1, pictureRate: 1000))
        for number in 0..<300 {
            let format = PixelFormat.allCases[Int(random.next() % UInt64(PixelFormat.allCases.count))]
            let (width, height) = (Int(random.next() % 200) + 1, Int(random.next() % 200) + 1)
            let noise = (0..<64).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let buffer =
                format == .mjpeg
                ? try noise.withUnsafeBytes { try PixelBuffer.compressed($0, as: format, width: width, height: height) }
                : try PixelBuffer.make(format, width: width, height: height) { pixels in
                    for plane in 0..<format.planeCount {
                        pixels.fill(plane: plane) { column, row in noise[(column &* 7 &+ row &* 3) % 64] }
                    }
                }
            let time = MediaTime(nanoseconds: Int64(random.next() % 50) * 100_000_000)
            detector.consumeFrame(
                VideoFrame(
                    buffer: buffer, timestamp: time, sequenceNumber: UInt64(number),
                    orientation: VideoOrientation.allCases[number % 4], isRepeat: number % 17 == 0))
        }
        let statistics = detector.statistics
        #expect(statistics.framesReceived == 300 && statistics.framesAnalyzed > 100)
        check(try #require(detector.lastObservation))
    }

    @Test func planesAndMasksOfFalseSizesAreRefused() throws {
        for (size, count) in [
            (PixelSize(width: 2, height: 2), 3), (PixelSize(width: 0, height: 5), 0),
            (PixelSize(width: -1, height: -1), 1), (PixelSize(width: .max, height: .max), 1),
        ] {
            let samples = [UInt8](repeating: 0, count: count)
            #expect(throws: CaptureError.self) { try LumaPlane(size: size, samples: samples) }
            #expect(throws: CaptureError.self) { try MotionMask(size: size, samples: samples) }
        }
    }

    @Test func readsMasksOfBothKinds() throws {
        let expected = try MotionMask(size: PixelSize(width: 2, height: 2), samples: [255, 0, 0, 255])
        #expect(try MotionMask(pgm: Array("P5\n# by hand\n2 2\n255\n".utf8) + [255, 0, 0, 200]) == expected)
        #expect(try MotionMask(pgm: Array("P2 2 2 1\n1 0\n0 1\n".utf8)) == expected)
        for text in [
            "", "P5", "P6 2 2 255\n", "P5 2 2 255\n1", "P2 2 2 1 1 0 0", "P5 99999 99999 255\n", "P5 2 2 0\n____",
        ] {
            #expect(throws: CaptureError.self) { try MotionMask(pgm: Array(text.utf8)) }
        }
        let folder = TemporaryFolder()
        let path = try folder.write(Array("P2 2 2 1\n1 0\n0 1\n".utf8), to: "mask.pgm")
        #expect(try MotionMask(pgmFile: path) == expected)
        #expect(throws: CaptureError.self) { try MotionMask(pgmFile: path + "-none") }
        #expect(throws: CaptureError.self) { try MotionMask(pgmFile: folder.path) }
        // Whatever the bytes are.
        var random = SeededRandom(state: 3)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in "P52 #\n019\u{FF}".utf8.randomElement(using: &random)! }
            _ = try? MotionMask(pgm: Array("P5 ".utf8) + bytes)
            _ = try? MotionMask(pgm: Array("P2 ".utf8) + bytes)
        }
    }
}
