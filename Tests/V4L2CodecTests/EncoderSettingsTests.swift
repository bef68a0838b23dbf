import TestTools
import Testing
import V4L2Support
import VideoCapturing

@testable import V4L2Codec

/// What needs no device. The rest is in `RealEncoderTests`.
@Suite struct EncoderSettingsTests {
    @Test(arguments: [0, 999, 200_000_001])
    func bitratesOutOfRangeAreRefused(_ bitrate: Int) throws {
        #expect { try V4L2VideoEncoder(V4L2VideoEncoder.Configuration(bitrate: bitrate)) } throws: {
            ($0 as? CodecError)?.code == .invalidConfiguration
        }
        let encoder = try V4L2VideoEncoder(V4L2VideoEncoder.Configuration(bitrate: 1_000_000))
        #expect(throws: CodecError.self) { try encoder.setBitrate(bitrate) }
    }

    @Test func keyFrameIntervalsBecomeFrames() {
        var configuration = V4L2VideoEncoder.Configuration(bitrate: 1_000_000)
        #expect(configuration.keyFrameIntervalInFrames == 60)
        configuration.keyFrameInterval = .nanoseconds(1)
        #expect(configuration.keyFrameIntervalInFrames == 1)
        configuration.keyFrameInterval = .seconds(Int64.max / 2_000_000_000)
        #expect((1...Int64(Int32.max)).contains(configuration.keyFrameIntervalInFrames))
        configuration.keyFrameInterval = nil
        #expect(configuration.keyFrameIntervalInFrames == Int64(Int32.max))
        configuration.keyFrameInterval = .zero
        #expect(throws: CodecError.self) { try configuration.validate() }
    }

    @Test func aMachineWithoutEncodersIsToldSo() {
        let folder = TemporaryFolder()
        #expect {
            try V4L2EncoderDevice.all(
                encoding: V4L2EncoderDevice.h264, MachinePlaces(root: folder.path), SystemDeviceCalls())
        } throws: { error in
            let error = error as? CodecError
            return error?.code == .unavailable && error?.message.contains("H264") == true
        }
    }

    @Test func aFileIsNoEncoder() throws {
        let folder = TemporaryFolder()
        try folder.write([1, 2, 3], to: "file")
        var configuration = V4L2VideoEncoder.Configuration(bitrate: 1_000_000)
        configuration.device = folder.file("file")
        let encoder = try V4L2VideoEncoder(configuration)
        #expect { try encoder.encode(try movingFrame(step: 0)) { _ in } } throws: { error in
            (error as? CodecError)?.subject == folder.file("file")
        }
        configuration.device = folder.file("none")
        let other = try V4L2VideoEncoder(configuration)
        #expect { try other.encode(try movingFrame(step: 0)) { _ in } } throws: { error in
            (error as? CodecError)?.code == .unavailable
        }
    }

    /// A frame lies in a driver's buffer with the driver's stride, and chroma behind the driver's rows.
    @Test(arguments: [PixelFormat.nv12, .i420])
    func framesAreCopiedIntoTheDriversLayout(_ format: PixelFormat) throws {
        let size = PixelSize(width: 48, height: 32)
        let frame = try movingFrame(format, size, step: 3)
        let shape = EncoderFormat.Shape(pixelFormat: format, width: 48, height: 32, color: .bt601)
        let (stride, rows) = (64, 48)
        let layout = EncoderFormat(shape: shape, bytesPerRow: stride, rows: rows, byteCount: stride * rows * 3 / 2)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: layout.byteCount, alignment: 64)
        defer { memory.deallocate() }
        try layout.copy(frame.buffer, to: memory)
        var offset = 0
        for plane in 0..<format.planeCount {
            let planeStride = plane > 0 && format == .i420 ? stride / 2 : stride
            for row in 0..<frame.buffer.planes[plane].rows {
                frame.buffer.withRow(row, ofPlane: plane) { bytes in
                    #expect(Array(bytes) == Array(memory[(offset + row * planeStride)...].prefix(bytes.count)))
                }
            }
            offset += planeStride * (plane > 0 ? rows / 2 : rows)
        }
        let short = UnsafeMutableRawBufferPointer(rebasing: memory[..<(stride * 32)])
        #expect(throws: CodecError.self) { try layout.copy(frame.buffer, to: short) }
    }
}
