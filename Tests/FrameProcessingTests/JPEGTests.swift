import CapturerTestKit
import FrameProcessing
import Testing
import VideoCapturing

@Suite struct JPEGTests {
    let processor = FrameProcessor()

    private func frame(_ bytes: [UInt8], _ width: Int = 19, _ height: Int = 9) throws -> VideoFrame {
        let buffer = try bytes.withUnsafeBytes {
            try PixelBuffer.compressed($0, as: .mjpeg, width: width, height: height)
        }
        return VideoFrame(buffer: buffer, timestamp: .zero)
    }

    @Test(arguments: [TestJPEG.yuv420, TestJPEG.yuv422, TestJPEG.yuv444], [PixelFormat.nv12, .nv21, .i420, .yv12])
    func decodes(jpeg: TestJPEG, target: PixelFormat) throws {
        let result = try processor.convert(try frame(jpeg.bytes), to: target)
        #expect(result.color == .jpeg)
        let samples = Samples(result.buffer)
        for y in 0..<9 {
            for x in 0..<19 {
                let exact: Triple = x < 16 ? (60, 90, 200) : (200, 150, 70)
                #expect(distance(triple(samples.pixel(x, y)), exact) <= 3, "\(x), \(y)")
            }
        }
    }

    @Test func decodesToRGBAndOtherColors() throws {
        let rgb = Samples(try processor.convert(try frame(TestJPEG.yuv420.bytes), to: .argb).buffer)
        #expect(distance(triple(rgb.pixel(3, 3)), Reference.toRGB((60, 90, 200), .jpeg)) <= 8)
        let limited = try processor.convert(try frame(TestJPEG.yuv420.bytes), to: .nv12, color: .bt601)
        let exact = Reference.fromRGB(Reference.toRGB((60, 90, 200), .jpeg), .bt601)
        #expect(limited.color == .bt601)
        #expect(distance(triple(Samples(limited.buffer).pixel(3, 3)), exact) <= 4)
    }

    @Test func cutsScalesAndTurnsDecodedPictures() throws {
        let jpeg = try frame(TestJPEG.yuv420.bytes)
        let cut = try processor.crop(jpeg, to: PixelRect(x: 17, y: 1, width: 2, height: 5))
        #expect(cut.pixelFormat == .nv12 && cut.width == 2 && cut.height == 5)
        #expect(distance(triple(Samples(cut.buffer).pixel(1, 4)), (200, 150, 70)) <= 3)
        let small = try processor.scale(jpeg, width: 10, height: 4)
        #expect(small.pixelFormat == .nv12 && small.width == 10 && small.height == 4)
        let turned = try processor.apply(FrameTransform(mirrors: true, pixelFormat: .rgba), to: jpeg)
        #expect(turned.pixelFormat == .rgba && turned.width == 19)
    }

    @Test func refusesGarbage() throws {
        let whole = TestJPEG.yuv420.bytes
        var noEnd = whole
        noEnd.removeLast(2)
        let zeros = [UInt8](repeating: 0, count: 500)
        var inner = [UInt8](repeating: 0x5A, count: 500)
        inner.replaceSubrange(0..<4, with: [0xFF, 0xD8, 0xFF, 0xC0])
        inner.replaceSubrange(498..<500, with: [0xFF, 0xD9])
        for bytes in [noEnd, zeros, inner, Array(whole.prefix(70)), [0xFF], [0xFF, 0xD8, 0xFF, 0xD9]] {
            for target in [PixelFormat.nv12, .i420, .argb] {
                #expect {
                    try processor.convert(try frame(bytes), to: target)
                } throws: {
                    ($0 as? CaptureError)?.code == .corruptData
                }
            }
        }
        #expect(throws: CaptureError.self) { try processor.convert(try frame(whole, 18, 9), to: .nv12) }
        #expect(throws: CaptureError.self) { try processor.convert(try frame(whole, 16383, 16383), to: .nv12) }
    }

    /// Whatever byte is damaged: an error or a picture, but no crash and no other size.
    @Test func survivesEveryDamagedByte() throws {
        for jpeg in [TestJPEG.yuv420, .yuv422, .yuv444, .grey] {
            for index in jpeg.bytes.indices {
                for value: UInt8 in [0, 0xFF, jpeg.bytes[index] ^ 0x11] {
                    var bytes = jpeg.bytes
                    bytes[index] = value
                    let damaged = try frame(bytes)
                    do {
                        let result = try processor.convert(damaged, to: .nv12)
                        #expect(result.width == 19 && result.height == 9)
                    } catch {
                        #expect(error.code == .corruptData || error.code == .formatUnsupported)
                    }
                }
            }
        }
    }
}
