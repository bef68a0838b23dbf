import CameraCapturer
import CapturerTestKit
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The memory of real drivers, as other devices get it.
@Suite(.enabled(if: !RealCameras.nodes.isEmpty, "CAPTURER_CAMERAS names no camera."), .serialized)
struct RealBufferTests {
    @Test(arguments: RealCameras.nodes) func sharesWhatItLends(node: String) throws {
        let consumer = RecordingConsumer(limit: 1)
        let capture = CameraCapturer(device: node, preset: RealCameraTests.preset, desiredFrameRate: 30)
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        defer { capture.releaseCapture() }
        try capture.startCapture()
        #expect(consumer.waitForFrames(1))
        let frame = try #require(consumer.frames.first)
        let buffers = try frame.buffer.dmaBuffers
        guard capture.cameraStatistics.framesLent > 0 else {
            #expect(buffers == nil, "a converted frame is in no buffer of the driver's")
            return
        }
        // The frame is kept, so the driver leaves its buffer alone.
        let planes = try #require(buffers)
        let shared = try #require(planes.first)
        let mapping = mmap(nil, shared.byteCount, PROT_READ, MAP_SHARED, shared.descriptor, 0)
        try #require(mapping != MAP_FAILED)
        let memory = UnsafeMutableRawPointer(mapping!)
        defer { munmap(memory, shared.byteCount) }
        for row in [0, frame.height / 2, frame.height - 1] {
            let isSame = frame.buffer.withRow(row, ofPlane: 0) { pixels in
                memcmp(memory + row * shared.bytesPerRow, pixels.baseAddress!, pixels.count) == 0
            }
            #expect(isSame, "row \(row)")
        }
        try capture.stopCapture()
        #expect(try frame.buffer.dmaBuffers == nil, "the stream has ended")
    }
}
