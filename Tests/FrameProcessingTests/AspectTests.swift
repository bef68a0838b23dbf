import Testing
import VideoCapturing

@testable import FrameProcessing

@Suite struct AspectTests {
    private func frame(
        _ width: Int, _ height: Int, _ aspect: PixelAspect, _ orientation: VideoOrientation = .up
    ) throws -> VideoFrame {
        VideoFrame(
            buffer: try noise(.nv12, width, height), timestamp: .zero, orientation: orientation, pixelAspect: aspect)
    }

    @Test func aTurnTransposesIt() throws {
        let wide = try #require(PixelAspect(width: 64, height: 45))
        let turned = try FrameProcessor().upright(frame(72, 56, wide, .left))
        #expect(turned.pixelAspect == wide.transposed)
        #expect(try FrameProcessor().upright(frame(72, 56, wide, .down)).pixelAspect == wide)
    }

    @Test(arguments: VideoOrientation.allCases) func pixelsAreMadeSquare(orientation: VideoOrientation) throws {
        let wide = try #require(PixelAspect(width: 64, height: 45))
        let given = try frame(180, 144, wide, orientation)
        let square = try FrameProcessor().apply(
            FrameTransform(squaresPixels: true, appliesOrientation: true), to: given)
        #expect(square.pixelAspect == .square)
        #expect(PixelSize(width: square.width, height: square.height) == given.displaySize)
        let size = orientation.swapsDimensions ? (144, 256) : (256, 144)
        #expect((square.width, square.height) == size)
        let cut = try FrameProcessor().apply(
            FrameTransform(crop: PixelRect(x: 0, y: 0, width: 90, height: 144), squaresPixels: true), to: given)
        #expect((cut.width, cut.height) == (128, 144))
    }

    /// A picture that fills the first shape of pixels has bars in the other.
    @Test func aFittedPictureKeepsItsAspect() throws {
        let wide = try #require(PixelAspect(width: 2, height: 1))
        let white = try PixelBuffer.make(.i420, width: 40, height: 20) { pixels in
            for plane in 0..<3 { pixels.fill(plane: plane, with: plane == 0 ? 235 : 128) }
        }
        func lumaOfMiddleRow(_ own: PixelAspect, _ target: PixelAspect) throws -> [UInt8] {
            let frame = VideoFrame(buffer: white, timestamp: .zero, pixelAspect: own)
            let result = try FrameFitter().fit(frame, width: 40, height: 20, pixelAspect: target)
            #expect(result.pixelAspect == target && result.width == 40 && result.height == 20)
            return result.buffer.withRow(10, ofPlane: 0) { Array($0) }
        }
        #expect(try lumaOfMiddleRow(.square, .square).count { $0 > 200 } == 40)
        #expect(try lumaOfMiddleRow(.square, wide).count { $0 > 200 } == 20)
        #expect(try lumaOfMiddleRow(wide, .square).count { $0 > 200 } == 40)
    }
}
