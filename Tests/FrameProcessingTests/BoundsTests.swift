import CapturerTestKit
import Testing
import VideoCapturing

@testable import FrameProcessing

/// Every function between two forbidden pages: whoever touches a byte outside of a picture dies.
@Suite struct BoundsTests {
    private let sizes = oddSizes + [(16, 2), (33, 33), (64, 16), (31, 1), (1, 31)]

    @Test(arguments: rawFormats, targetFormats) func conversions(source: PixelFormat, target: PixelFormat) throws {
        var scratch = ScratchMemory()
        for placement in GuardedMemory.Placement.allCases {
            for (width, height) in sizes {
                let from = GuardedPicture(source, width, height, placement)
                let to = GuardedPicture(target, width, height, placement)
                for color in [ColorDescription.bt601, .bt709] {
                    try from.picture.picture.convert(
                        from: anyColor(source), into: to.picture, color, scratch: &scratch)
                }
                #expect(to.picture.width == width)
            }
        }
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .argb]) func turns(format: PixelFormat) throws {
        var scratch = ScratchMemory()
        for placement in GuardedMemory.Placement.allCases {
            for (width, height) in sizes {
                let from = GuardedPicture(format, width, height, placement)
                for rotation in VideoOrientation.allCases {
                    let isTurned = rotation.swapsDimensions
                    let to = GuardedPicture(format, isTurned ? height : width, isTurned ? width : height, placement)
                    for mirrors in [false, true] {
                        let turn = Turn(rotation: rotation, mirrors: mirrors)
                        try from.picture.picture.turn(turn, into: to.picture, scratch: &scratch)
                    }
                    #expect(to.picture.pixelFormat == format)
                }
            }
        }
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .argb], FrameTransform.Filter.allCases)
    func scaling(format: PixelFormat, filter: FrameTransform.Filter) throws {
        var scratch = ScratchMemory()
        for placement in GuardedMemory.Placement.allCases {
            for (width, height) in sizes {
                let from = GuardedPicture(format, width, height, placement)
                for (newWidth, newHeight) in [
                    (1, 1), (2, 2), (7, 5), (64, 64), ((width + 1) / 2, (height + 1) / 2), (width * 2, height * 2),
                    (width * 2 - 1, height * 2 - 1), (max(1, width * 3 / 4), max(1, height * 3 / 4)),
                    (max(1, width * 3 / 8), max(1, height * 3 / 8)), (max(1, width / 4), max(1, height / 4)),
                    (width, 9), (9, height), (max(1, width - 1), height + 1), (width * 5, 3),
                ] {
                    let to = GuardedPicture(format, newWidth, newHeight, placement)
                    try from.picture.picture.scale(into: to.picture, filter: filter, scratch: &scratch)
                    #expect(to.picture.width == newWidth)
                }
            }
        }
    }

    /// Into rows as those of pools, which have room for whole blocks.
    @Test func decoding() throws {
        var scratch = ScratchMemory()
        let bytes = TestJPEG.yuv420.bytes
        for placement in GuardedMemory.Placement.allCases {
            for count in [bytes.count, bytes.count - 1, 64, 63, 2, 1] {
                let memory = GuardedMemory(count, placement)
                memory.bytes.copyBytes(from: bytes.prefix(count))
                let base = memory.bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
                let planes: PlaneList = [PicturePlane(base: UnsafePointer(base), stride: Int32(count))]
                let jpeg = Picture(
                    pixelFormat: .mjpeg, width: 19, height: 9, planes: planes, compressedByteCount: count)
                for target in [PixelFormat.nv12, .nv21, .i420, .yv12] {
                    let to = GuardedPicture(target, 19, 9, placement, alignment: 64)
                    do throws(CaptureError) {
                        try jpeg.decode(into: to.picture, scratch: &scratch)
                        #expect(count == bytes.count)
                    } catch {
                        #expect(count < bytes.count && error.code == .corruptData)
                    }
                }
            }
        }
    }
}
