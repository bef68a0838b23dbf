import CapturerTestKit
import VideoCapturing

/// A JPEG picture of 19x9 pixels with a number in a comment, to be told from others; with as many bytes besides as are
/// wanted.
func picture(_ number: Int, padding: Int = 0, thumbnail: Bool = false) -> [UInt8] {
    let whole = TestJPEG.yuv420.bytes
    var result: [UInt8] = [0xFF, 0xD8] + segment(0xFE, Array("number \(number) ".utf8))
    // A picture within the picture, with an end of its own.
    if thumbnail { result += segment(0xE1, Array("Exif\0\0".utf8) + TestJPEG.grey.bytes) }
    var left = padding
    while left > 0 {
        let count = min(left, 60_000)
        result += segment(0xEF, [UInt8](repeating: 0x20, count: count))
        left -= count
    }
    return result + whole[2...]
}

private func segment(_ marker: UInt8, _ bytes: [UInt8]) -> [UInt8] {
    let length = bytes.count + 2
    return [0xFF, marker, UInt8(length >> 8), UInt8(length & 255)] + bytes
}

/// The number of a ``picture(_:padding:thumbnail:)``; nil for what is none.
func number(of bytes: [UInt8]) -> Int? {
    let prefix = Array("number ".utf8)
    guard bytes.count > 20, bytes[0] == 0xFF, bytes[1] == 0xD8, bytes[6..<13].elementsEqual(prefix) else { return nil }
    return Int(String(decoding: bytes[13...].prefix { (0x30...0x39).contains($0) }, as: UTF8.self))
}

extension VideoFrame {
    /// The bytes of the JPEG that the frame carries.
    var jpegBytes: [UInt8] {
        guard let jpeg else { return [] }
        return jpeg.withRow(0, ofPlane: 0) { Array($0) }
    }

    var number: Int? { MJPEGCapturerTests.number(of: jpegBytes) }
}
