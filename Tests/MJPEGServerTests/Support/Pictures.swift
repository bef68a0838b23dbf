import CapturerTestKit
import VideoCapturing

/// A small valid JPEG with a number in a comment, and as many bytes more as are wanted.
func numberedJPEG(_ number: Int, padding: Int = 0) -> [UInt8] {
    let picture = TestJPEG.yuv420.bytes
    var comments: [UInt8] = []
    func add(_ bytes: [UInt8]) {
        let length = UInt16(bytes.count + 2)
        comments += [0xFF, 0xFE, UInt8(length >> 8), UInt8(length & 0xFF)]
        comments += bytes
    }
    add(withUnsafeBytes(of: UInt32(number).bigEndian) { [UInt8]($0) })
    var rest = padding
    while rest > 0 {
        add([UInt8](repeating: 0x20, count: min(rest, 60_000)))
        rest -= 60_000
    }
    return picture[..<2] + comments + picture[2...]
}

/// The number that ``numberedJPEG(_:padding:)`` has put in; nil for another picture.
func number(of jpeg: [UInt8]) -> Int? {
    guard jpeg.count > 10, jpeg[2] == 0xFF, jpeg[3] == 0xFE, jpeg[4] == 0, jpeg[5] == 6 else { return nil }
    return jpeg[6..<10].reduce(0) { $0 << 8 | Int($1) }
}

/// A frame as a camera gives it that compresses by itself.
func jpegFrame(_ number: Int, padding: Int = 0, at timestamp: MediaTime = MonotonicClock().now) throws -> VideoFrame {
    let bytes = numberedJPEG(number, padding: padding)
    let buffer = try bytes.withUnsafeBytes { bytes throws(CaptureError) in
        try PixelBuffer.compressed(bytes, as: .mjpeg, width: 19, height: 9)
    }
    // A high rate, so that a snapshot waits no longer than that for a nearer frame.
    return VideoFrame(
        buffer: buffer, timestamp: timestamp, sequenceNumber: UInt64(number), estimatedFrameRate: 1000)
}

/// A frame of samples, whose luma rises from left to right.
func rawFrame(
    _ format: PixelFormat = .i420, width: Int = 32, height: Int = 16, brightness: UInt8 = 0
) throws -> VideoFrame {
    let buffer = try PixelBuffer.make(format, width: width, height: height) { pixels in
        for plane in 0..<format.planeCount {
            pixels.fill(plane: plane) { column, _ in
                plane == 0 || format.isRGB ? brightness &+ UInt8(truncatingIfNeeded: 16 + column * 4) : 128
            }
        }
    }
    return VideoFrame(buffer: buffer, timestamp: MonotonicClock().now, estimatedFrameRate: 1000)
}
