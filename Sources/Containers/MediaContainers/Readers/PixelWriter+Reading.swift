import VideoCapturing

extension InputFile {
    /// Reads one picture without padding straight into the rows of a buffer. False when the file ends before
    /// the picture does.
    func readPixels(into pixels: borrowing PixelWriter, plane: Int) throws(MediaFileError) -> Bool {
        let shape = pixels.planes[plane]
        if shape.bytesPerRow == shape.rowBytes {
            return try pixels.withBytes(ofPlane: plane) { (bytes) throws(MediaFileError) in
                try read(into: bytes) == bytes.count
            }
        }
        for row in 0..<shape.rows {
            let isWhole = try pixels.withRow(row, ofPlane: plane) { (bytes) throws(MediaFileError) in
                try read(into: bytes) == bytes.count
            }
            if !isWhole { return false }
        }
        return true
    }

    /// Reads all planes, at once where they lie in memory as they do in the file.
    func readPixels(into pixels: borrowing PixelWriter) throws(MediaFileError) -> Bool {
        let isWhole = try pixels.withPackedBytes { (bytes) throws(MediaFileError) in
            try read(into: bytes) == bytes.count
        }
        if let isWhole { return isWhole }
        for plane in pixels.planes.indices where try !readPixels(into: pixels, plane: plane) { return false }
        return true
    }

    /// Throws `corruptData` when fewer bytes follow than a picture needs: before memory is taken for a
    /// size that only a damaged header states. Says nothing about a pipe.
    func checkHolds(_ byteCount: Int) throws(MediaFileError) {
        if !mayHold(byteCount) { throw endsWithinFrame() }
    }

    func endsWithinFrame() -> MediaFileError {
        corrupt("The file ends within a frame; the frames before it are whole.")
    }

    func corrupt(_ message: String) -> MediaFileError {
        MediaFileError(.corruptData, operation: "read the file", path: path, message: message)
    }
}
