import CAllocationCount
import CBareJPEG
import JPEGCodec
import VideoCapturing

/// What a JPEG picture costs to decode and to encode, beside libyuv and TurboJPEG, which use the same libjpeg-turbo.
struct JPEGBenchmark {
    private let frameCount: Int
    private let rounds: Int
    private static let quality = 80

    init(_ effort: Effort) {
        frameCount = effort.frames(200)
        rounds = effort.rounds
    }

    func run() throws {
        Report.title("JPEG, quality \(JPEGBenchmark.quality), CPU per picture")
        Report.text(
            """
            A picture with edges, gradients and noise, of 4:2:0. TurboJPEG stops at planes; the others make NV12. libyuv
            uses libjpeg's faster and less accurate transform, the others the accurate one.
            """)
        var rows: [[String]] = []
        var isAsFast = true
        for (width, height) in [(640, 480), (1280, 720)] {
            let picture = try JPEGBenchmark.picture(.i420, width: width, height: height)
            let jpeg = try JPEGBenchmark.encode(picture)
            let decoding = try inTurns(rounds: rounds, decoders(jpeg, width: width, height: height))
            let encoding = try inTurns(rounds: rounds, encoders(picture))
            let names = [
                "decode: this project", "decode: libyuv's MJPGToNV12", "decode: TurboJPEG",
                "encode: this project, I420", "encode: this project, NV12",
                "encode: this project, NV12 of limited range", "encode: TurboJPEG, I420",
            ]
            for (name, usages) in zip(names, decoding + encoding) {
                rows.append(["\(width)x\(height), \(jpeg.count / 1000) kB", name, (usages.medianCPU / 1e6).fixed(3)])
            }
            isAsFast = isAsFast && decoding[0].medianCPURatio(to: decoding[2]) < 1.05
            isAsFast = isAsFast && encoding[0].medianCPURatio(to: encoding[3]) < 1.05
        }
        Report.table(["picture", "", "CPU, ms"], rows)
        Report.goal("At most 5 % more CPU than TurboJPEG, both ways", isMet: isAsFast)
        try countAllocations()
    }

    private func decoders(_ jpeg: [UInt8], width: Int, height: Int) -> [() throws -> Usage] {
        let decoder = JPEGDecoder()
        let bare = bare_jpeg_create()
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: width * height * 3)
        return [
            { try perFrame { _ = try jpeg.withUnsafeBytes { try decoder.decode($0) } } },
            {
                perFrame {
                    let result = bare_jpeg_libyuv(
                        jpeg, jpeg.count, Int32(width), Int32(height), memory, memory + width * height)
                    precondition(result == 0)
                }
            },
            {
                perFrame {
                    let planes = [memory, memory + width * height, memory + width * height * 2]
                    precondition(bare_jpeg_decode(bare, jpeg, jpeg.count, planes) == 0)
                }
            },
        ]
    }

    private func encoders(_ picture: PixelBuffer) throws -> [() throws -> Usage] {
        let encoder = try JPEGEncoder(quality: JPEGBenchmark.quality)
        let bare = bare_jpeg_create()
        let (width, height) = (picture.width, picture.height)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: width * height * 3 / 2)
        var next = memory
        for plane in 0..<3 {
            for row in 0..<picture.planes[plane].rows {
                picture.withRow(row, ofPlane: plane) { bytes in
                    UnsafeMutableRawPointer(next).copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
                    next += bytes.count
                }
            }
        }
        let interleaved = try JPEGBenchmark.picture(.nv12, width: width, height: height)
        func ours(_ buffer: PixelBuffer, _ color: ColorDescription) -> () throws -> Usage {
            let frame = VideoFrame(buffer: buffer, timestamp: .zero, color: color)
            return { try perFrame { try encoder.encode(frame) { _ in } } }
        }
        return [
            ours(picture, .jpeg), ours(interleaved, .jpeg), ours(interleaved, .bt601),
            {
                perFrame {
                    let planes = [
                        UnsafePointer(memory), UnsafePointer(memory + width * height),
                        UnsafePointer(memory + width * height * 5 / 4),
                    ]
                    let count = bare_jpeg_encode(
                        bare, planes, Int32(width), Int32(height), Int32(JPEGBenchmark.quality))
                    precondition(count > 0)
                }
            },
        ]
    }

    private func perFrame(_ body: () throws -> Void) rethrows -> Usage {
        try Usage.of { for _ in 0..<frameCount { try body() } } / frameCount
    }

    /// libjpeg makes and frees its working memory for each picture; what comes on top is ours.
    private func countAllocations() throws {
        let picture = try JPEGBenchmark.picture(.nv12, width: 640, height: 480)
        let jpeg = try JPEGBenchmark.encode(picture)
        let decoder = JPEGDecoder()
        let encoder = try JPEGEncoder(quality: JPEGBenchmark.quality)
        let bare = bare_jpeg_create()
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 640 * 480 * 3)
        let planes = [memory, memory + 640 * 480, memory + 640 * 480 * 2]
        let sources = planes.map { UnsafePointer($0) }
        let frame = VideoFrame(buffer: picture, timestamp: .zero, color: .bt601)
        let paths: [(String, () throws -> Void)] = [
            ("decode: this project", { _ = try jpeg.withUnsafeBytes { try decoder.decode($0) } }),
            ("decode: TurboJPEG", { precondition(bare_jpeg_decode(bare, jpeg, jpeg.count, planes) == 0) }),
            ("encode: this project", { try encoder.encode(frame) { _ in } }),
            ("encode: TurboJPEG", { precondition(bare_jpeg_encode(bare, sources, 640, 480, 80) > 0) }),
        ]
        var rows: [[String]] = []
        for (name, path) in paths {
            for _ in 0..<20 { try path() }
            allocation_count_begin()
            for _ in 0..<100 { try path() }
            let counts = allocation_count_end()
            rows.append([name, (Double(counts.allocations) / 100).fixed(2), "\(counts.bytes / 100)"])
        }
        Report.table(["640x480", "allocations per picture, libjpeg's own included", "bytes"], rows)
    }

    private static func encode(_ picture: PixelBuffer) throws -> [UInt8] {
        var bytes: [UInt8] = []
        let frame = VideoFrame(buffer: picture, timestamp: .zero, color: .jpeg)
        try JPEGEncoder(quality: quality).encode(frame) { packet in
            bytes = packet.data.withUnsafeBytes { Array($0) }
        }
        return bytes
    }

    private static func picture(_ format: PixelFormat, width: Int, height: Int) throws -> PixelBuffer {
        var state: UInt64 = 1
        return try PixelBuffer.make(format, width: width, height: height) { pixels in
            pixels.fill(plane: 0) { x, y in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let isInside = (x / 40 + y / 30) % 3 == 0
                return UInt8((isInside ? 180 : 40 + 120 * x / width) + Int(state >> 60))
            }
            for plane in 1..<format.planeCount {
                pixels.fill(plane: plane) { x, y in UInt8(80 + (x / 30 + y / 20 + plane) % 8 * 10) }
            }
        }
    }
}
