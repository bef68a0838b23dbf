import FrameProcessing
import JPEGCodec
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// The samples of a 4:2:0 picture, each plane without padding: Y, U, V.
struct Samples: Equatable {
    var width: Int
    var height: Int
    var planes: [[UInt8]]

    init(width: Int, height: Int, planes: [[UInt8]]) {
        self.width = width
        self.height = height
        self.planes = planes
    }

    init(_ buffer: PixelBuffer) {
        width = buffer.width
        height = buffer.height
        var planes = buffer.planes.indices.map { plane in
            (0..<buffer.planes[plane].rows).flatMap { row in buffer.withRow(row, ofPlane: plane) { Array($0) } }
        }
        func parity(_ bytes: [UInt8], _ first: Int) -> [UInt8] {
            stride(from: first, to: bytes.count, by: 2).map { bytes[$0] }
        }
        switch buffer.pixelFormat {
        case .nv12: planes = [planes[0], parity(planes[1], 0), parity(planes[1], 1)]
        case .nv21: planes = [planes[0], parity(planes[1], 1), parity(planes[1], 0)]
        case .yv12: planes.swapAt(1, 2)
        default: break
        }
        self.planes = planes
    }

    /// Planes with fewer or more chroma samples, brought to 4:2:0 sample by sample.
    ///
    /// - Parameters:
    ///   - across: how many times as wide as chroma luma is.
    ///   - down: how many times as high.
    init(_ bytes: [UInt8], width: Int, height: Int, across: Int, down: Int) {
        self.width = width
        self.height = height
        let luma = Array(bytes[..<(width * height)])
        let (wide, high) = ((width + across - 1) / across, (height + down - 1) / down)
        planes = [luma]
        for part in 0..<2 {
            let start = width * height + part * wide * high
            let plane = Array(bytes[start..<(start + wide * high)])
            var reduced: [UInt8] = []
            for y in 0..<((height + 1) / 2) {
                for x in 0..<((width + 1) / 2) {
                    var sum = 0
                    for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                        // Of the luma sample that this chroma sample stands for.
                        let column = min(width - 1, 2 * x + dx) / across
                        let row = min(height - 1, 2 * y + dy) / down
                        sum += Int(plane[row * wide + column])
                    }
                    reduced.append(UInt8((sum + 2) / 4))
                }
            }
            planes.append(reduced)
        }
    }

    /// The largest difference between two samples of a plane.
    func difference(to other: Samples, plane: Int) -> Int {
        guard planes[plane].count == other.planes[plane].count else { return 256 }
        return zip(planes[plane], other.planes[plane]).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    }

    /// Peak signal-to-noise ratio of a plane, in dB.
    func psnr(to other: Samples, plane: Int) -> Double {
        let sum = zip(planes[plane], other.planes[plane]).reduce(0.0) {
            let difference = Double($1.0) - Double($1.1)
            return $0 + difference * difference
        }
        return sum == 0 ? 100 : 10 * log10(255 * 255 * Double(planes[plane].count) / sum)
    }
}

extension JPEGDecoder {
    func samples(_ bytes: [UInt8]) throws -> Samples {
        Samples(try bytes.withUnsafeBytes { try decode($0) })
    }
}

func header(_ bytes: [UInt8]) throws -> JPEGHeader {
    try bytes.withUnsafeBytes { try JPEGHeader($0) }
}

/// A gradient with squares on it, within 16 to 235 or within all 256 values.
func picture(_ format: PixelFormat, width: Int, height: Int, range: ColorDescription.Range = .full) throws
    -> PixelBuffer
{
    let (low, span) = range == .full ? (0, 255) : (16, 219)
    func luma(_ x: Int, _ y: Int) -> UInt8 {
        UInt8(x % 20 < 7 && y % 16 < 9 ? low + span : low + (x * 2 + y) * span / (2 * width + height))
    }
    func blue(_ x: Int, _ y: Int) -> UInt8 { UInt8(60 + 120 * x / width) }
    func red(_ x: Int, _ y: Int) -> UInt8 { UInt8(190 - 120 * y / height) }
    return try PixelBuffer.make(format, width: width, height: height) { pixels in
        pixels.fill(plane: 0, luma)
        switch format {
        case .nv12: pixels.fill(plane: 1) { x, y in x % 2 == 0 ? blue(x / 2, y) : red(x / 2, y) }
        case .nv21: pixels.fill(plane: 1) { x, y in x % 2 == 0 ? red(x / 2, y) : blue(x / 2, y) }
        case .yv12:
            pixels.fill(plane: 1, red)
            pixels.fill(plane: 2, blue)
        default:
            pixels.fill(plane: 1, blue)
            pixels.fill(plane: 2, red)
        }
    }
}

func frame(_ buffer: PixelBuffer, color: ColorDescription = .jpeg) -> VideoFrame {
    VideoFrame(buffer: buffer, timestamp: MediaTime(nanoseconds: 7), color: color)
}

extension JPEGEncoder {
    func bytes(_ frame: VideoFrame) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try encode(frame) { packet in bytes = packet.data.withUnsafeBytes { Array($0) } }
        return bytes
    }
}

/// Where the segments of a marker begin and end, by their lengths.
func segments(_ marker: UInt8, in jpeg: [UInt8]) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var position = 2
    while position + 4 <= jpeg.count, jpeg[position] == 0xFF {
        let end = position + 2 + Int(jpeg[position + 2]) * 256 + Int(jpeg[position + 3])
        if jpeg[position + 1] == marker { found.append(position..<end) }
        if jpeg[position + 1] == 0xDA { break }
        position = end
    }
    return found
}

func removing(_ marker: UInt8, from jpeg: [UInt8]) -> [UInt8] {
    var bytes = jpeg
    for range in segments(marker, in: jpeg).reversed() { bytes.removeSubrange(range) }
    return bytes
}
