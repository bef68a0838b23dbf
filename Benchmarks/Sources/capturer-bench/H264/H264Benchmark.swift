import CAllocationCount
import CBareH264
import H264Codec
import VideoCapturing

/// What H.264 costs to encode, beside openh264 alone with the same settings, and what is allocated for a frame.
struct H264Benchmark {
    /// So short that what else the machine does is the same for both most of the time.
    private static let framesOfTurn = 15
    private let turns: Int
    private static let rate: FrameRate = 30

    init(_ effort: Effort) {
        turns = effort.rounds * 10
    }

    func run() throws {
        Report.title("H.264, CPU per frame")
        Report.text(
            """
            A pan over a picture with edges and light noise, in memory beforehand, through `H264Encoder` and through
            openh264 alone with the same settings (NV12 is split by libyuv there), in turns of
            \(H264Benchmark.framesOfTurn) frames.
            """)
        var rows: [[String]] = []
        var worst = 0.0
        for (width, height, bitrate) in [(640, 480, 1_000_000), (1280, 720, 2_500_000)] {
            for format in [PixelFormat.i420, .nv12] {
                let clip = try H264Benchmark.clip(format, width: width, height: height)
                let encoder = try makeEncoder(bitrate)
                let bare = bare_h264_create(Int32(width), Int32(height), 30, Int32(bitrate))
                defer { bare_h264_destroy(bare) }
                var (ours, its) = (Count(), Count())
                let results = try inTurns(
                    rounds: turns,
                    [
                        {
                            try turn(clip, &ours) { frame, bytes in
                                try encoder.encode(frame) { bytes += $0.data.count }
                            }
                        },
                        { turn(clip, &its) { frame, bytes in bytes += encodeBare(frame, bare) } },
                    ])
                let ratio = results[0].medianCPURatio(to: results[1])
                worst = max(worst, ratio)
                rows.append([
                    "\(width)x\(height), \(format)", (results[0].medianCPU / 1e6).fixed(3),
                    (results[1].medianCPU / 1e6).fixed(3), ratio.fixed(3), "\(ours.bytes)", "\(its.bytes)",
                ])
            }
        }
        Report.table(["clip", "ours, ms", "bare openh264, ms", "ratio", "our bytes", "its bytes"], rows)
        Report.goal("At most 2 % more CPU than openh264 alone (\(worst.fixed(3)))", isMet: worst <= 1.02)
        try countAllocations()
    }

    private struct Count {
        var frames = 0
        var bytes = 0
    }

    /// The next frames of a clip, and what one costs.
    private func turn(
        _ clip: [PixelBuffer], _ count: inout Count, _ encode: (VideoFrame, inout Int) throws -> Void
    ) rethrows -> Usage {
        try Usage.of {
            for _ in 0..<H264Benchmark.framesOfTurn {
                try encode(frame(clip, count.frames), &count.bytes)
                count.frames += 1
            }
        } / H264Benchmark.framesOfTurn
    }

    private func frame(_ clip: [PixelBuffer], _ index: Int) -> VideoFrame {
        // Back and forth, so that no picture follows another one far away.
        let period = 2 * clip.count - 2
        let place = index % period
        return VideoFrame(
            buffer: clip[place < clip.count ? place : period - place],
            timestamp: MediaTime.zero.advanced(by: H264Benchmark.rate.time(ofFrame: Int64(index))),
            sequenceNumber: UInt64(index), estimatedFrameRate: H264Benchmark.rate)
    }

    private func makeEncoder(_ bitrate: Int) throws -> H264Encoder {
        var configuration = H264Encoder.Configuration(bitrate: bitrate)
        configuration.keyFrameInterval = nil
        return try H264Encoder(configuration)
    }

    /// The number of bytes.
    private func encodeBare(_ frame: VideoFrame, _ bare: OpaquePointer) -> Int {
        let planes = frame.buffer.planes
        return frame.buffer.withUnsafePlanes { bases in
            bare_h264_encode(
                bare, bases[0].assumingMemoryBound(to: UInt8.self), Int32(planes[0].bytesPerRow),
                bases[1].assumingMemoryBound(to: UInt8.self),
                planes.count > 2 ? bases[2].assumingMemoryBound(to: UInt8.self) : nil,
                Int32(planes[1].bytesPerRow), frame.timestamp.nanoseconds / 1_000_000)
        }
    }

    /// openh264's own are counted, too, and beside them.
    private func countAllocations() throws {
        let clip = try H264Benchmark.clip(.nv12, width: 640, height: 480)
        let encoder = try makeEncoder(1_000_000)
        let (first, count) = (500, 500)
        var counts = allocation_counts()
        for index in 0..<first + count {
            if index == first { allocation_count_begin() }
            // Key frames in the first half, too, so that the packets' memory is as large as it gets.
            if index % 50 == 49 { encoder.requestKeyFrame() }
            try encoder.encode(frame(clip, index)) { _ in }
        }
        counts = allocation_count_end()
        Report.table(
            ["path", "allocations", "bytes"],
            [["\(count) frames of 640x480, ten key frames among them", "\(counts.allocations)", "\(counts.bytes)"]])
        Report.goal("No allocation per frame of H.264", isMet: counts.allocations == 0)
    }

    /// A second of a pan over edges and gradients, with light noise.
    private static func clip(_ format: PixelFormat, width: Int, height: Int) throws -> [PixelBuffer] {
        var state: UInt64 = 1
        return try (0..<30).map { step in
            try PixelBuffer.make(format, width: width, height: height) { pixels in
                pixels.fill(plane: 0) { column, row in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let (x, y) = (column + 3 * step, row + step)
                    let isInside = (x / 40 + y / 30) % 3 == 0
                    return UInt8((isInside ? 150 + y % 30 : 40 + 100 * (x % 400) / 400) + Int(state >> 61))
                }
                for plane in 1..<format.planeCount {
                    pixels.fill(plane: plane) { x, y in UInt8(80 + ((x + 3 * step) / 30 + y / 20 + plane) % 8 * 10) }
                }
            }
        }
    }
}
