import VP8Codec
import VideoCapturing

/// What a screen costs to encode when little of it changes: 1080p, 64 × 64 pixels at 30 frames per second.
struct ScreenBenchmark {
    private static let width = 1920
    private static let height = 1080
    private let frameCount: Int
    private let rounds: Int

    init(_ effort: Effort) {
        frameCount = effort.frames(300)
        rounds = effort.rounds
    }

    /// What the encoder learns of the frames.
    private enum Damage: CaseIterable {
        case unknown, known, repeats, none

        var name: String {
            switch self {
            case .unknown: "64 × 64 changing, damage unknown"
            case .known: "the same, damage known"
            case .repeats: "nothing changing, repeats to keep alive"
            case .none: "nothing changing, damage empty"
            }
        }
    }

    func run() throws {
        Report.title("A screen, 1920x1080, speed −8, one thread")
        let pictures = try (0..<8).map { try ScreenBenchmark.picture($0) }
        var bytes = [Double](repeating: 0, count: Damage.allCases.count)
        let usages = try inTurns(
            rounds: rounds,
            Damage.allCases.enumerated().map { index, damage in
                {
                    let (usage, count) = try encode(pictures, damage)
                    bytes[index] = Double(count)
                    return usage
                }
            })
        Report.table(
            ["frames", "CPU, ms per frame", "bytes per frame"],
            Damage.allCases.indices.map { index in
                [Damage.allCases[index].name, (usages[index].medianCPU / 1e6).fixed(2), bytes[index].fixed(0)]
            })
    }

    private func encode(_ pictures: [PixelBuffer], _ damage: Damage) throws -> (usage: Usage, bytes: Int) {
        var configuration = VP8Encoder.Configuration(bitrate: 4_000_000, contentHint: .text)
        configuration.keyFrameInterval = nil
        configuration.threads = 1
        let encoder = try VP8Encoder(configuration)
        var bytes = 0
        func show(_ index: Int, _ damage: [PixelRect]?, isRepeat: Bool, picture: Int) throws {
            let frame = VideoFrame(
                buffer: pictures[picture], timestamp: FrameRate(30, per: 1)!.timestamp(index),
                estimatedFrameRate: 30, damage: damage, isRepeat: isRepeat)
            try encoder.encode(frame) { bytes += $0.data.count }
        }
        // Until the picture is as sharp as it will be.
        for index in 0..<90 { try show(index, index == 0 ? nil : [], isRepeat: false, picture: 0) }
        bytes = 0
        let place = [ScreenBenchmark.window]
        let usage = try Usage.of {
            for index in 0..<frameCount {
                switch damage {
                case .unknown: try show(90 + index, nil, isRepeat: false, picture: index % pictures.count)
                case .known: try show(90 + index, place, isRepeat: false, picture: index % pictures.count)
                case .repeats: try show(90 + index, [], isRepeat: true, picture: 0)
                case .none: try show(90 + index, [], isRepeat: false, picture: 0)
                }
            }
        }
        return (usage / frameCount, bytes / frameCount)
    }

    private static let window = PixelRect(x: 800, y: 400, width: 64, height: 64)

    /// Patterns like text, and a window in which each step looks different.
    private static func picture(_ step: Int) throws -> PixelBuffer {
        try PixelBuffer.make(.i420, width: width, height: height) { pixels in
            pixels.fill(plane: 0) { x, y in
                let isInside = x >= 800 && x < 864 && y >= 400 && y < 464
                let seed = isInside ? step &* 7919 : 0
                guard y % 16 < 11, x % 8 < 6, isInside || x % 640 < 480 else { return 230 }
                let glyph = ((x / 8 &* 7919) ^ (y / 16 &* 104_729) &+ seed) &* 2_654_435_761
                return glyph >> (x % 8 / 2 &+ y % 16 / 2 &* 3) & 1 == 1 ? 30 : 230
            }
            pixels.fill(plane: 1, with: 128)
            pixels.fill(plane: 2, with: 128)
        }
    }
}

extension FrameRate {
    fileprivate func timestamp(_ index: Int) -> MediaTime { MediaTime.zero.advanced(by: time(ofFrame: Int64(index))) }
}
