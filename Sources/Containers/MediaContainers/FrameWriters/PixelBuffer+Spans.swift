import VideoCapturing

extension PixelBuffer {
    /// Runs `body` with the samples of the picture, plane after plane and row after row, without the
    /// padding: the bytes of a raw video file, in as few pieces as the strides allow.
    func forEachSpan<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
        try withUnsafePlanes { (bases) throws(Failure) in
            for (base, plane) in zip(bases, planes) {
                if plane.bytesPerRow == plane.rowBytes {
                    try body(UnsafeRawBufferPointer(start: base, count: plane.rowBytes * plane.rows))
                } else {
                    for row in 0..<plane.rows {
                        try body(UnsafeRawBufferPointer(start: base + row * plane.bytesPerRow, count: plane.rowBytes))
                    }
                }
            }
        }
    }
}

extension OutputFile {
    /// Adds the samples of a picture, without padding.
    func writePixels(of buffer: PixelBuffer) throws(MediaFileError) {
        try buffer.forEachSpan { (bytes) throws(MediaFileError) in try write(bytes) }
    }
}
