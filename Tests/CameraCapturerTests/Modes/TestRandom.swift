import VideoCapturing

@testable import CameraCapturer

/// Chance that is the same in each run (SplitMix64).
struct TestRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// Often one of the numbers at which arithmetic goes wrong.
    mutating func extreme() -> UInt32 {
        let numbers: [UInt32] = [0, 1, 2, 30, 1001, 30000, 1 << 31 - 1, 1 << 31, .max - 1, .max]
        return Bool.random(using: &self) ? numbers.randomElement(using: &self)! : .random(in: 0...100, using: &self)
    }

    mutating func interval() -> FrameInterval { FrameInterval(numerator: extreme(), denominator: extreme()) }

    mutating func size() -> PixelSize { PixelSize(width: Int(extreme()), height: Int(extreme())) }

    mutating func intervals() -> FrameIntervals {
        switch UInt8.random(in: 0..<3, using: &self) {
        case 0: .discrete((0..<3).map { _ in interval() })
        case 1: .range(shortest: interval(), longest: interval(), step: interval())
        default: .unknown
        }
    }

    mutating func camera() -> RecordedCamera {
        var camera = RecordedCamera()
        for fourCC: FourCC in [.nv12, .yuyv, .mjpeg, .h264, .rgb24] {
            switch UInt8.random(in: 0..<3, using: &self) {
            case 0:
                camera.add(
                    fourCC, .discrete((0..<4).map { _ in RecordedCamera.Size(size: size(), intervals: intervals()) }))
            case 1:
                let (low, high, step) = (size(), size(), size())
                camera.add(
                    fourCC,
                    .range(
                        FrameSizeRange(
                            minWidth: low.width, maxWidth: high.width, stepWidth: step.width, minHeight: low.height,
                            maxHeight: high.height, stepHeight: step.height), intervals()))
            default: camera.add(fourCC, .fixed(size()))
            }
        }
        camera.interval = interval()
        return camera
    }
}
