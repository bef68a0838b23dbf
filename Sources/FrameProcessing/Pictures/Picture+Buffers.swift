import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension PixelBuffer {
    /// Runs `body` with a view of the pixels.
    ///
    /// Throws `invalidConfiguration` where the rows of foreign memory lie so far apart that libyuv, which
    /// counts in 32 bits, could not reach them all.
    func withPicture<Result>(
        _ body: (Picture) throws(CaptureError) -> Result
    ) throws(CaptureError) -> Result {
        let strides = try strides(planes, pixelFormat, width, height)
        return try withUnsafePlanes { (bases) throws(CaptureError) -> Result in
            var parts = PlaneList<PicturePlane>()
            for index in bases.indices {
                parts.append(
                    PicturePlane(base: bases[index].assumingMemoryBound(to: UInt8.self), stride: strides[index]))
            }
            return try body(
                Picture(
                    pixelFormat: pixelFormat, width: width, height: height, planes: parts,
                    // Not `byteCount`, which counts the padding that follows.
                    compressedByteCount: pixelFormat.isCompressed ? planes[0].rowBytes : 0))
        }
    }
}

extension PixelWriter {
    /// Runs `body` with a view of the pixels to be written.
    borrowing func withPicture(
        _ body: (MutablePicture) throws(CaptureError) -> Void
    ) throws(CaptureError) {
        let strides = try strides(planes, pixelFormat, width, height)
        try withUnsafePlanes { (bases) throws(CaptureError) in
            var parts = PlaneList<PicturePlane>()
            for index in bases.indices {
                parts.append(
                    PicturePlane(base: bases[index].assumingMemoryBound(to: UInt8.self), stride: strides[index]))
            }
            try body(
                MutablePicture(
                    picture: Picture(pixelFormat: pixelFormat, width: width, height: height, planes: parts)))
        }
    }
}

private func strides(
    _ planes: PlaneList<PixelBuffer.Plane>, _ pixelFormat: PixelFormat, _ width: Int, _ height: Int
) throws(CaptureError) -> PlaneList<Int32> {
    try planes.mapPlanes { (plane) throws(CaptureError) -> Int32 in
        // Of a single row the distance to the next means nothing and may be anything; but JPEG is decoded by whole blocks,
        // and to pictures from a pool, whose rows have room for them.
        if plane.rows == 1 { return Int32(exactly: plane.bytesPerRow) ?? Int32(clamping: plane.rowBytes) }
        let (extent, overflow) = plane.bytesPerRow.multipliedReportingOverflow(by: plane.rows)
        guard !overflow, extent <= Int(Int32.max) else {
            throw CaptureError(
                .invalidConfiguration, operation: "process a picture", subject: "\(pixelFormat) \(width)x\(height)",
                message: "A plane extends over 2 GiB; copy the picture into one with closer rows first.")
        }
        return Int32(plane.bytesPerRow)
    }
}

extension PixelBufferPool {
    /// A picture with what `fill` writes; ``makeBuffer(_:width:height:fill:)`` with typed errors.
    func makePicture(
        _ pixelFormat: PixelFormat, _ size: PixelSize, fill: (MutablePicture) throws(CaptureError) -> Void
    ) throws(CaptureError) -> PixelBuffer {
        do {
            return try makeBuffer(pixelFormat, width: size.width, height: size.height) { pixels in
                try pixels.withPicture(fill)
            }
        } catch let error as CaptureError {
            throw error
        } catch {
            // `makeBuffer` and `fill` throw nothing else, which the signature of the former cannot say.
            throw CaptureError(.system, operation: "make a picture", message: "\(error)")
        }
    }
}

/// The memory and the decoder of conversions, kept from one to the next: memory for intermediate pictures, which grows to
/// the largest need, and a decoder after the first JPEG.
struct ScratchMemory: ~Copyable {
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private var jpeg: JPEGContext?

    /// `byteCount` bytes at a multiple of 64, with what the last user left in them. Valid until the next call.
    mutating func reserve(_ byteCount: Int) throws(CaptureError) -> UnsafeMutablePointer<UInt8> {
        if byteCount > capacity || memory == nil {
            free(memory)
            memory = nil
            capacity = 0
            var fresh: UnsafeMutableRawPointer?
            guard posix_memalign(&fresh, 64, byteCount) == 0, let fresh else {
                throw CaptureError(
                    .outOfMemory, operation: "convert a picture",
                    message: "The machine has no \(byteCount) bytes left; use a smaller size or shorter queues.")
            }
            memory = fresh
            capacity = byteCount
        }
        return memory!.assumingMemoryBound(to: UInt8.self)
    }

    /// Planes of the given bytes per row and rows, one after another. Valid until the next call.
    mutating func reservePlanes(
        _ count: Int, rowBytes: Int, rows: Int
    ) throws(CaptureError) -> PlaneList<MutablePicturePlane> {
        let stride = (rowBytes + 63) / 64 * 64
        let base = try reserve(count * stride * rows)
        var planes = PlaneList<MutablePicturePlane>()
        for index in 0..<count {
            planes.append(MutablePicturePlane(base: base + index * stride * rows, stride: stride))
        }
        return planes
    }

    mutating func jpegContext() throws(CodecError) -> JPEGContext {
        if let jpeg { return jpeg }
        let context = try JPEGContext()
        jpeg = context
        return context
    }

    deinit { free(memory) }
}
