import FrameProcessing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A colour as 0xAARRGGBB.
typealias Color = UInt32

/// A picture of known pixels: what a screen is to show.
struct Picture {
    let width: Int
    let height: Int
    /// Bytes A, R, G, B, as `PixelFormat.argb` has them.
    private(set) var words: [UInt32]

    init(width: Int, height: Int, color: Color = 0xFF00_0000) {
        self.width = width
        self.height = height
        words = [UInt32](repeating: color.bigEndian, count: width * height)
    }

    /// Opaque noise, which shows every pixel that lies in a wrong place.
    init(width: Int, height: Int, seed: UInt32) {
        self.init(width: width, height: height)
        var state = seed &* 2_654_435_761 | 1
        words.withUnsafeMutableBufferPointer { words in
            for index in words.indices {
                state ^= state << 13
                state ^= state >> 17
                state ^= state << 5
                words[index] = (state | 0xFF00_0000).bigEndian
            }
        }
    }

    /// From the packed bytes of an ARGB picture.
    init(argb bytes: [UInt8], width: Int, height: Int) {
        precondition(bytes.count == width * height * 4)
        self.width = width
        self.height = height
        words = bytes.withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
    }

    subscript(x: Int, y: Int) -> Color {
        get { Color(bigEndian: words[y * width + x]) }
        set { words[y * width + x] = newValue.bigEndian }
    }

    /// Where the picture is; rectangles that reach outside of it are cut.
    var bounds: PixelRect { PixelRect(x: 0, y: 0, width: width, height: height) }

    mutating func fill(_ rect: PixelRect, _ color: Color) {
        let rect = rect.intersection(bounds)
        for y in rect.y..<rect.y + rect.height {
            for x in rect.x..<rect.x + rect.width { self[x, y] = color }
        }
    }

    mutating func draw(_ picture: Picture, x: Int, y: Int) {
        let rect = PixelRect(x: x, y: y, width: picture.width, height: picture.height).intersection(bounds)
        for row in rect.y..<rect.y + rect.height {
            let from = (row - y) * picture.width + rect.x - x
            let to = row * width + rect.x
            words.replaceSubrange(to..<to + rect.width, with: picture.words[from..<from + rect.width])
        }
    }

    func cropped(to rect: PixelRect) -> Picture {
        var part = Picture(width: rect.width, height: rect.height)
        part.draw(self, x: -rect.x, y: -rect.y)
        return part
    }

    /// The colours with as many bits as the masks of a screen have for them, spread over eight again.
    func reduced(red: Int, green: Int, blue: Int) -> Picture {
        func reduce(_ value: UInt32, _ bits: Int) -> UInt32 {
            let kept = value >> UInt32(8 - bits)
            return kept << UInt32(8 - bits) | kept >> UInt32(2 * bits - 8)
        }
        var result = self
        for index in words.indices {
            let color = Color(bigEndian: words[index])
            result.words[index] =
                (0xFF00_0000 | reduce(color >> 16 & 255, red) << 16 | reduce(color >> 8 & 255, green) << 8
                | reduce(color & 255, blue)).bigEndian
        }
        return result
    }

    /// The packed bytes of the picture in a format, converted as frames are.
    func packed(as format: PixelFormat) throws -> [UInt8] {
        let buffer = try PixelBuffer.make(.argb, width: width, height: height) { pixels in
            words.withUnsafeBytes { words in
                for row in 0..<height {
                    pixels.withRow(row, ofPlane: 0) {
                        $0.copyMemory(from: .init(rebasing: words[row * width * 4..<(row + 1) * width * 4]))
                    }
                }
            }
        }
        return packedBytes(of: try FrameProcessor().convert(buffer, to: format))
    }

    /// Where two pictures of one size differ; nil when nowhere.
    func changes(from other: Picture) -> PixelRect? {
        precondition(width == other.width && height == other.height)
        var box: PixelRect?
        for y in 0..<height {
            let row = y * width..<(y + 1) * width
            if isSame(words[row], other.words[row]) { continue }
            for x in 0..<width where self[x, y] != other[x, y] {
                let pixel = PixelRect(x: x, y: y, width: 1, height: 1)
                box = box?.union(pixel) ?? pixel
            }
        }
        return box
    }

    private func isSame(_ left: ArraySlice<UInt32>, _ right: ArraySlice<UInt32>) -> Bool {
        left.withUnsafeBytes { left in
            right.withUnsafeBytes { memcmp(left.baseAddress!, $0.baseAddress!, left.count) == 0 }
        }
    }
}

/// The samples of all planes, row after row, without padding.
func packedBytes(of buffer: PixelBuffer) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(buffer.pixelFormat.packedByteCount(width: buffer.width, height: buffer.height))
    for plane in 0..<buffer.planes.count {
        for row in 0..<buffer.planes[plane].rows {
            buffer.withRow(row, ofPlane: plane) { bytes.append(contentsOf: $0) }
        }
    }
    return bytes
}

extension PixelRect {
    func intersection(_ other: PixelRect) -> PixelRect {
        let left = max(x, other.x)
        let top = max(y, other.y)
        return PixelRect(
            x: left, y: top, width: max(0, min(x + width, other.x + other.width) - left),
            height: max(0, min(y + height, other.y + other.height) - top))
    }

    func union(_ other: PixelRect) -> PixelRect {
        let left = min(x, other.x)
        let top = min(y, other.y)
        return PixelRect(
            x: left, y: top, width: max(x + width, other.x + other.width) - left,
            height: max(y + height, other.y + other.height) - top)
    }

    func contains(x: Int, y: Int) -> Bool {
        x >= self.x && x < self.x + width && y >= self.y && y < self.y + height
    }
}
