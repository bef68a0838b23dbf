import TestTools
import VideoCapturing

@testable import MotionDetection

/// A picture of a camera as a script describes it: a background with edges, noise, light, a shake, and what moves in front.
struct Scene {
    /// Something in front of the background.
    struct Thing {
        /// Its place and size, in fractions of the picture.
        var region: MotionRegion
        /// How much lighter it is than the background behind it.
        var contrast: Double
    }

    let size: PixelSize
    /// The deviation of the noise, in levels.
    var noise = 1.0
    /// The light: luma is `gain × luma + offset`.
    var gain = 1.0
    var offset = 0.0
    /// How far the camera has moved, in cells.
    var shift = (x: 0.0, y: 0.0)
    var things: [Thing] = []

    private var random: SeededRandom
    /// The background with room around it for shifts.
    private let background: [Double]
    private let stride: Int
    private static let margin = 12

    init(_ size: PixelSize = PixelSize(width: 32, height: 18), seed: UInt64 = 1) {
        self.size = size
        random = SeededRandom(state: seed)
        stride = size.width + 2 * Self.margin
        var background: [Double] = []
        for row in 0..<size.height + 2 * Self.margin {
            for column in 0..<stride {
                // Tiles of different shades: edges everywhere, as of furniture, walls and trees.
                let tile = (column / 5) &* 73 &+ (row / 4) &* 151
                background.append(60 + Double(tile % 97) + 0.5 * Double(column % 5))
            }
        }
        self.background = background
    }

    /// The picture of this moment; noise differs in each.
    mutating func plane() throws -> LumaPlane {
        var samples: [UInt8] = []
        samples.reserveCapacity(size.pixelCount)
        let places = things.map { ($0.region.cells(size), $0.contrast) }
        let (wholeX, wholeY) = (Int(shift.x.rounded(.down)), Int(shift.y.rounded(.down)))
        let (partX, partY) = (shift.x - Double(wholeX), shift.y - Double(wholeY))
        for row in 0..<size.height {
            for column in 0..<size.width {
                let index = (row + Self.margin + wholeY) * stride + column + Self.margin + wholeX
                var luma = background[index]
                if partX != 0 || partY != 0 {
                    let above = luma * (1 - partX) + background[index + 1] * partX
                    let below = background[index + stride] * (1 - partX) + background[index + stride + 1] * partX
                    luma = above * (1 - partY) + below * partY
                }
                for (place, contrast) in places where place.rows.contains(row) && place.columns.contains(column) {
                    luma += contrast
                }
                // The sum of four is nearly normal, with a deviation of 148.
                let bits = random.next()
                let sum =
                    Double(bits & 255) + Double(bits >> 8 & 255) + Double(bits >> 16 & 255)
                    + Double(bits >> 24 & 255)
                luma = gain * luma + offset + (sum - 510) / 148 * noise
                samples.append(UInt8(min(max(luma, 0), 255).rounded()))
            }
        }
        return try LumaPlane(size: size, samples: samples)
    }
}

/// Plays a scene into an analyzer, picture after picture.
struct Player {
    var scene: Scene
    var analyzer: MotionAnalyzer
    var now = MediaTime(nanoseconds: 1_000_000_000)
    var events: [MotionEvent] = []
    var findings: [MotionObservation.Finding: Int] = [:]

    init(_ scene: Scene = Scene(), _ settings: MotionSettings = MotionSettings()) {
        self.scene = scene
        analyzer = MotionAnalyzer(settings)
    }

    /// Plays for some seconds; `script` changes the scene by the time since the beginning of the call.
    mutating func play(_ seconds: Double, rate: Double = 10, _ script: (inout Scene, Double) -> Void = { _, _ in })
        throws
    {
        let count = Int((seconds * rate).rounded())
        for picture in 0..<count {
            script(&scene, Double(picture) / rate)
            let observation = analyzer.analyze(try scene.plane(), at: now)
            findings[observation.finding, default: 0] += 1
            if let event = observation.event { events.append(event) }
            now += .nanoseconds(Int64(1e9 / rate))
        }
    }
}
