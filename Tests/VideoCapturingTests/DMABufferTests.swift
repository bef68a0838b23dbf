import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Pixel buffers in memory that a driver shares; a mapped file stands for the driver's memory.
@Suite struct DMABufferTests {
    private let width = 32
    private let height = 8
    private var byteCount: Int { PixelFormat.nv12.packedByteCount(width: width, height: height) }

    /// The descriptor of a file of bytes, which has no name any more.
    private func makeFile() throws -> Int32 {
        var name = Array("/tmp/dma-test-XXXXXX".utf8CString)
        let file = mkstemp(&name)
        try #require(file >= 0)
        unlink(name)
        let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0) }
        try #require(write(file, bytes, byteCount) == byteCount)
        return file
    }

    private func wrap(
        _ memory: UnsafeMutableRawPointer, exporter: PixelBuffer.DMABuffer.Exporter?
    ) throws -> PixelBuffer {
        let byteCount = byteCount
        var planes = PlaneList(
            PixelBuffer.PlaneMemory(base: memory, byteCount: width * height, bytesPerRow: width))
        planes.append(
            PixelBuffer.PlaneMemory(
                base: memory + width * height, byteCount: width * height / 2, bytesPerRow: width))
        nonisolated(unsafe) let mapped = memory
        return try PixelBuffer(wrapping: planes, as: .nv12, width: width, height: height, exporter: exporter) {
            munmap(mapped, byteCount)
        }
    }

    @Test func aFramesMemoryIsSharedByItsDescriptor() throws {
        let file = try makeFile()
        defer { close(file) }
        let memory = try #require(mmap(nil, byteCount, PROT_READ, MAP_SHARED, file, 0))
        let pixels = try wrap(memory) { [byteCount, width] in
            PlaneList(PixelBuffer.DMABuffer(descriptor: dup(file), byteCount: byteCount, bytesPerRow: width))
        }
        let shared = try pixels.dmaBuffers
        let buffer = try #require(shared?.first)
        #expect(shared?.count == 1 && buffer.byteCount == byteCount && buffer.bytesPerRow == width)
        var bytes = [UInt8](repeating: 0, count: width)
        for row in [0, height - 1] {
            #expect(pread(buffer.descriptor, &bytes, width, off_t(row * buffer.bytesPerRow)) == width)
            pixels.withRow(row, ofPlane: 0) { #expect(bytes.elementsEqual($0)) }
        }
        // Exported anew: whoever imports one closes no other's.
        let descriptor = try #require(try pixels.dmaBuffers?.first?.descriptor)
        #expect(descriptor != buffer.descriptor)
    }

    @Test func memoryThatIsNotADriversIsNotShared() throws {
        #expect(try PixelBuffer.make(.nv12, width: width, height: height) { _ in }.dmaBuffers == nil)
        let file = try makeFile()
        defer { close(file) }
        let memory = try #require(mmap(nil, byteCount, PROT_READ, MAP_SHARED, file, 0))
        #expect(try wrap(memory, exporter: nil).dmaBuffers == nil)
    }

    @Test func aDriverThatDoesNotShareSaysSo() throws {
        let file = try makeFile()
        defer { close(file) }
        let memory = try #require(mmap(nil, byteCount, PROT_READ, MAP_SHARED, file, 0))
        let refused = CaptureError(
            .system, operation: "VIDIOC_EXPBUF", subject: "/dev/video0", errno: ENOTTY, message: "It does not.")
        let pixels = try wrap(memory) { () throws(CaptureError) in throw refused }
        #expect(throws: refused) { try pixels.dmaBuffers }
    }
}
