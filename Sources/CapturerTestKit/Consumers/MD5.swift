import CLibMD
import VideoCapturing

/// The MD5 sum (RFC 1321) of pixels, to compare pictures with those of other programs. Not for security.
public struct MD5 {
    private var context = MD5_CTX()

    public init() {
        MD5Init(&context)
    }

    /// Adds bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        MD5Update(&context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    /// Adds the samples of a picture, row after row and plane after plane, without padding: the bytes that a
    /// raw video file would hold.
    public mutating func update(_ buffer: PixelBuffer) {
        for (plane, shape) in buffer.planes.enumerated() {
            for row in 0..<shape.rows {
                buffer.withRow(row, ofPlane: plane) { update($0) }
            }
        }
    }

    /// The sum of what was added, as 32 hexadecimal digits. More can be added afterwards.
    public var hexDigest: String {
        var copy = context
        var digest = [UInt8](repeating: 0, count: 16)
        MD5Final(&digest, &copy)
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The sum of one picture.
    public static func hexDigest(of buffer: PixelBuffer) -> String {
        var sum = MD5()
        sum.update(buffer)
        return sum.hexDigest
    }
}
