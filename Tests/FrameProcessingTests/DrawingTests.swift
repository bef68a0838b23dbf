import FrameProcessing
import Testing
import VideoCapturing

/// Drawing into the caller's memory, against what `apply` makes of the same frame.
@Suite struct DrawingTests {
    private static let formats = PixelFormat.allCases.filter { !$0.isCompressed }

    @Test(arguments: formats, VideoOrientation.allCases)
    func drawsWhatApplyMakes(_ format: PixelFormat, _ orientation: VideoOrientation) throws {
        let processor = FrameProcessor()
        var state: UInt32 = 12345
        let buffer = try PixelBuffer.make(format, width: 36, height: 22) { pixels in
            for plane in 0..<format.planeCount {
                pixels.fill(plane: plane) { _, _ in
                    state = state &* 1_664_525 &+ 1_013_904_223
                    return UInt8(state >> 24)
                }
            }
        }
        let frame = VideoFrame(buffer: buffer, timestamp: .zero, orientation: orientation, color: .bt709)
        for size in [
            PixelSize(width: 36, height: 22), PixelSize(width: 22, height: 36), PixelSize(width: 51, height: 17),
        ] {
            for mirrors in [false, true] {
                let expected = try processor.apply(
                    FrameTransform(size: size, appliesOrientation: true, mirrors: mirrors, pixelFormat: .bgra),
                    to: frame)
                // Rows further apart than their pixels: what lies between stays.
                let bytesPerRow = size.width * 4 + 8
                let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: bytesPerRow * size.height)
                defer { memory.deallocate() }
                memory.initialize(repeating: 0xA5, count: bytesPerRow * size.height)
                try processor.draw(
                    frame, to: memory, bytesPerRow: bytesPerRow, size: size, filter: .box, mirrors: mirrors)
                for row in 0..<size.height {
                    let drawn = UnsafeBufferPointer(start: memory + row * bytesPerRow, count: bytesPerRow)
                    let isSame = expected.buffer.withRow(row, ofPlane: 0) {
                        $0.elementsEqual(drawn.prefix(size.width * 4))
                    }
                    #expect(isSame, "row \(row) of \(size), mirrored \(mirrors)")
                    #expect(drawn.suffix(8).allSatisfy { $0 == 0xA5 })
                }
            }
        }
    }
}
