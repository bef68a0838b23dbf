import CapturerTestKit
import Digests
import Testing
import VideoCapturing

@Suite struct ConsumerTests {
    @Test func sumsBytes() {
        // The examples of RFC 1321, appendix A.5.
        #expect(MD5().hexDigest == "d41d8cd98f00b204e9800998ecf8427e")
        var sum = MD5()
        "message digest".utf8.withContiguousStorageIfAvailable { sum.update(UnsafeRawBufferPointer($0)) }
        #expect(sum.hexDigest == "f96b697d7cb7938d525a2f31aaf161d0")
    }

    @Test func sumsPixelsWithoutPadding() throws {
        let format = PixelFormat.nv12
        let tight = try PixelBuffer.make(format, width: 6, height: 4) { TestPicture.fill($0, index: 3) }
        // 24 samples of luma and 12 of chroma, in rows that are padded to 64 bytes.
        var bytes: [UInt8] = []
        for (plane, rows) in [(0, 4), (1, 2)] {
            for row in 0..<rows {
                for column in 0..<6 {
                    bytes.append(TestPicture.byte(plane: plane, column: column, row: row, index: 3))
                }
            }
        }
        var expected = MD5()
        bytes.withUnsafeBytes { expected.update($0) }
        #expect(MD5.hexDigest(of: tight) == expected.hexDigest)
        let consumer = DigestConsumer()
        for index in 0..<2 {
            consumer.consumeFrame(VideoFrame(buffer: tight, timestamp: MediaTime(nanoseconds: Int64(index))))
        }
        #expect(consumer.frameDigests == [expected.hexDigest, expected.hexDigest])
        bytes.withUnsafeBytes { expected.update($0) }
        #expect(consumer.digest == expected.hexDigest)
    }

    @Test func recordsUpToALimit() throws {
        let consumer = RecordingConsumer(limit: 2)
        let buffer = try PixelBuffer.black(.i420, width: 2, height: 2, color: .bt601)
        for index in 0..<5 {
            consumer.consumeFrame(VideoFrame(buffer: buffer, timestamp: .zero, sequenceNumber: UInt64(index)))
        }
        #expect(consumer.count == 5)
        #expect(consumer.frames.map(\.sequenceNumber) == [0, 1])
        #expect(!consumer.waitForFrames(6, timeout: .milliseconds(1)))
        consumer.removeAll()
        #expect(consumer.count == 0)
    }

    @Test func seesOverlap() throws {
        let consumer = SlowConsumer(delay: .milliseconds(100))
        let buffer = try PixelBuffer.black(.i420, width: 2, height: 2, color: .bt601)
        let frame = VideoFrame(buffer: buffer, timestamp: .zero)
        let threads = try (0..<2).map { _ in try CaptureThread(name: "overlap") { consumer.consumeFrame(frame) } }
        for thread in threads { thread.join() }
        #expect(consumer.haveCallsOverlapped)
    }
}
