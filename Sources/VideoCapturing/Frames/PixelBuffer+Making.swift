extension PixelBuffer {
    /// A picture in newly allocated memory, with the pixels that `fill` writes.
    ///
    /// For pictures that are made once. For every frame use a ``PixelBufferPool``.
    ///
    /// - Throws: `invalidConfiguration` for a size out of range, `outOfMemory`, and what `fill` throws.
    public static func make(
        _ pixelFormat: PixelFormat, width: Int, height: Int, fill: (borrowing PixelWriter) throws -> Void
    ) throws -> PixelBuffer {
        let buffer = try PixelBuffer(allocating: pixelFormat, width: width, height: height)
        try fill(buffer.makeWriter())
        return buffer
    }

    /// A compressed picture (``PixelFormat/mjpeg``): a copy of its bytes.
    ///
    /// - Throws: `invalidConfiguration` for a size out of range, `outOfMemory`.
    public static func compressed(
        _ bytes: UnsafeRawBufferPointer, as pixelFormat: PixelFormat, width: Int, height: Int
    ) throws(CaptureError) -> PixelBuffer {
        precondition(pixelFormat.isCompressed, "\(pixelFormat) is not compressed")
        let buffer = try PixelBuffer(allocating: pixelFormat, width: width, height: height, byteCount: bytes.count)
        buffer.makeWriter().withBytes(ofPlane: 0) { $0.copyMemory(from: bytes) }
        return buffer
    }

    /// A black picture: really black in `color`, so 16/128/128 in limited range, 0/128/128 in full
    /// range, and opaque black in RGB.
    ///
    /// - Throws: `invalidConfiguration` for a size out of range, `outOfMemory`, and
    ///   `formatUnsupported` for compressed formats.
    public static func black(
        _ pixelFormat: PixelFormat, width: Int, height: Int, color: ColorDescription
    ) throws(CaptureError) -> PixelBuffer {
        let buffer = try PixelBuffer(allocating: pixelFormat, width: width, height: height)
        let pixels = buffer.makeWriter()
        let luma: UInt8 = color.range == .limited ? 16 : 0
        let chroma: UInt8 = 128
        switch pixelFormat {
        case .i420, .yv12, .nv12, .nv21, .nv16:
            pixels.fill(plane: 0, with: luma)
            for plane in 1..<pixelFormat.planeCount { pixels.fill(plane: plane, with: chroma) }
        case .yuy2: pixels.fill(plane: 0) { column, _ in column % 2 == 0 ? luma : chroma }
        case .uyvy: pixels.fill(plane: 0) { column, _ in column % 2 == 0 ? chroma : luma }
        case .argb, .abgr: pixels.fill(plane: 0) { column, _ in column % 4 == 0 ? 255 : 0 }
        case .bgra, .rgba: pixels.fill(plane: 0) { column, _ in column % 4 == 3 ? 255 : 0 }
        case .rgb24, .bgr24: pixels.fill(plane: 0, with: 0)
        case .mjpeg:
            throw CaptureError(
                .formatUnsupported, operation: "make a black picture", subject: "\(pixelFormat)",
                message: "Compressed pictures cannot be blackened; decode them first.")
        }
        return buffer
    }
}
