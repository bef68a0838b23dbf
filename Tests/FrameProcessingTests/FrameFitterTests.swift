import Testing
import VideoCapturing

@testable import FrameProcessing

@Suite struct FrameFitterTests {
    /// A white picture.
    private func frame(_ format: PixelFormat, _ width: Int, _ height: Int) throws -> VideoFrame {
        let buffer = try PixelBuffer.make(format, width: width, height: height) { pixels in
            for plane in 0..<pixels.planes.count { pixels.fill(plane: plane, with: plane == 0 ? 235 : 128) }
        }
        return VideoFrame(buffer: buffer, timestamp: .zero, damage: [PixelRect(x: 0, y: 0, width: 2, height: 2)])
    }

    /// Where luma is white.
    private func whitePart(_ frame: VideoFrame) -> PixelRect? {
        var (left, top, right, bottom) = (Int.max, Int.max, -1, -1)
        for row in 0..<frame.height {
            frame.buffer.withRow(row, ofPlane: 0) { bytes in
                for column in bytes.indices where bytes[column] > 200 {
                    (left, right) = (min(left, column), max(right, column))
                    (top, bottom) = (min(top, row), max(bottom, row))
                }
            }
        }
        guard right >= 0 else { return nil }
        return PixelRect(x: left, y: top, width: right - left + 1, height: bottom - top + 1)
    }

    @Test(arguments: [PixelFormat.nv12, .i420])
    func putsASmallerPictureInTheMiddle(format: PixelFormat) throws {
        let result = try FrameFitter().fit(frame(format, 20, 10), width: 40, height: 30)
        #expect(result.width == 40 && result.height == 30 && result.damage == nil)
        #expect(whitePart(result) == PixelRect(x: 10, y: 10, width: 20, height: 10))
        let corner = result.buffer.withRow(0, ofPlane: 0) { $0[0] }
        #expect(corner == 16, "black of limited range")
    }

    @Test func makesALargerPictureSmallerAndKeepsItsAspect() throws {
        let result = try FrameFitter().fit(frame(.nv12, 160, 60), width: 80, height: 60)
        #expect(whitePart(result) == PixelRect(x: 0, y: 14, width: 80, height: 30))
    }

    @Test func leavesWhatFits() throws {
        let frame = try frame(.nv12, 17, 13)
        let result = try FrameFitter().fit(frame, width: 17, height: 13)
        #expect(result.buffer === frame.buffer && result.damage == frame.damage)
    }

    @Test(arguments: [(1, 1), (2, 2), (353, 287), (3, 100), (100, 3)], [(1, 1), (2, 2), (64, 48), (63, 47)])
    func takesAnySize(from: (width: Int, height: Int), to: (width: Int, height: Int)) throws {
        let fitter = FrameFitter()
        for format in [PixelFormat.nv12, .i420, .argb] {
            let result = try fitter.fit(frame(format, from.width, from.height), width: to.width, height: to.height)
            #expect(result.width == to.width && result.height == to.height && result.pixelFormat == format)
        }
    }

    @Test func refusesCompressedPictures() throws {
        let bytes: [UInt8] = [1, 2, 3]
        let buffer = try bytes.withUnsafeBytes {
            try PixelBuffer.compressed($0, as: .mjpeg, width: 8, height: 8)
        }
        #expect(throws: CaptureError.self) {
            try FrameFitter().fit(VideoFrame(buffer: buffer, timestamp: .zero), width: 4, height: 6)
        }
    }
}
