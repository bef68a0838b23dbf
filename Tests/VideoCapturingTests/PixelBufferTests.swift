import Testing
import VideoCapturing

@Suite struct PixelBufferTests {
    @Test(arguments: PixelFormat.allCases.filter { !$0.isCompressed }, [(1, 1), (2, 2), (353, 287), (64, 3)])
    func laysPlanesOutAligned(format: PixelFormat, size: (Int, Int)) throws {
        let buffer = try PixelBuffer.make(format, width: size.0, height: size.1) { _ in }
        #expect(buffer.planes.count == format.planeCount)
        for (index, plane) in buffer.planes.enumerated() {
            #expect(plane.rowBytes == format.rowBytes(ofPlane: index, width: size.0))
            #expect(plane.bytesPerRow % 64 == 0)
            #expect(plane.bytesPerRow >= plane.rowBytes)
            #expect(plane.byteCount >= plane.bytesPerRow * (plane.rows - 1) + plane.rowBytes)
        }
        buffer.withUnsafePlanes { planes in
            for plane in planes { #expect(Int(bitPattern: plane) % 64 == 0) }
        }
    }

    @Test(arguments: [(0, 1), (1, 0), (-5, 5), (16384, 1), (1, Int.max)])
    func refusesSizes(size: (Int, Int)) {
        #expect { try PixelBuffer.make(.nv12, width: size.0, height: size.1) { _ in } } throws: {
            ($0 as? CaptureError)?.code == .invalidConfiguration
        }
    }

    @Test func checksForeignMemory() throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
        defer { memory.deallocate() }
        let base = UnsafeRawPointer(memory.baseAddress!)
        func wrap(_ width: Int, _ height: Int, stride: Int, count: Int) throws {
            _ = try PixelBuffer(
                wrapping: [PixelBuffer.PlaneMemory(base: base, byteCount: count, bytesPerRow: stride)], as: .yuy2,
                width: width, height: height, release: {})
        }
        try wrap(4, 10, stride: 10, count: 98)
        #expect(throws: CaptureError.self) { try wrap(4, 10, stride: 10, count: 97) }
        #expect(throws: CaptureError.self) { try wrap(4, 10, stride: 7, count: 100) }
        #expect(throws: CaptureError.self) { try wrap(4, 10, stride: .max, count: 100) }
        #expect(throws: CaptureError.self) { try wrap(4, 10, stride: -8, count: 100) }
    }

    @Test func recyclesOnlyWhatNobodyHolds() throws {
        let pool = PixelBufferPool(capacity: 4)
        func make() throws -> PixelBuffer {
            try pool.makeBuffer(.nv12, width: 16, height: 16) { $0.fill(plane: 0, with: 1) }
        }
        var first: PixelBuffer? = try make()
        let identity = ObjectIdentifier(first!)
        let second = try make()
        #expect(first !== second)
        first = nil
        let third = try make()
        #expect(ObjectIdentifier(third) == identity)
        #expect(third !== second)
    }

    @Test func outlivesItsPool() throws {
        var pool: PixelBufferPool? = PixelBufferPool(capacity: 2)
        let kept = try (0..<5).map { value in
            try pool!.makeBuffer(.nv12, width: 8, height: 8) { $0.fill(plane: 0, with: UInt8(value)) }
        }
        pool = nil
        for (value, buffer) in kept.enumerated() {
            buffer.withRow(7, ofPlane: 0) { row in #expect(row.allSatisfy { $0 == UInt8(value) }) }
        }
    }

    @Test func blackIsBlack() throws {
        let limited = try PixelBuffer.black(.nv12, width: 5, height: 3, color: .bt601)
        limited.withRow(2, ofPlane: 0) { #expect(Array($0) == [16, 16, 16, 16, 16]) }
        limited.withRow(1, ofPlane: 1) { #expect(Array($0) == [128, 128, 128, 128, 128, 128]) }
        let argb = try PixelBuffer.black(.argb, width: 2, height: 1, color: .jpeg)
        argb.withRow(0, ofPlane: 0) { #expect(Array($0) == [255, 0, 0, 0, 255, 0, 0, 0]) }
    }
}
