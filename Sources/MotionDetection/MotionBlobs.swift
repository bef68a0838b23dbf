import VideoCapturing

/// Connected cells of a picture, without single ones.
struct MotionBlobs: Sendable {
    private let size: PixelSize
    /// The cells that belong to a part and are not visited yet.
    private var pending: [Bool]
    private var stack: [Int32] = []

    /// A part of the foreground.
    struct Blob: Sendable, Hashable {
        var cells = 0
        /// Those that have changed lately.
        var fresh = 0
        var columns: Range<Int>
        var rows: Range<Int>
    }

    init(_ size: PixelSize) {
        self.size = size
        pending = [Bool](repeating: false, count: size.pixelCount)
    }

    /// The parts of at least `minimum` cells. Cells with fewer than two neighbours are left out; a gap of one cell does not
    /// divide a part.
    mutating func find(
        _ foreground: [Bool], watched: [Bool], minimum: Int, isFresh: (Int) -> Bool
    ) -> [Blob] {
        var any = false
        for row in 0..<size.height {
            for column in 0..<size.width {
                let index = row * size.width + column
                let isKept = foreground[index] && watched[index] && neighbours(foreground, column, row) >= 2
                pending[index] = isKept
                any = any || isKept
            }
        }
        guard any else { return [] }
        var blobs: [Blob] = []
        for index in pending.indices where pending[index] {
            let blob = collect(from: index, isFresh)
            if blob.cells >= minimum { blobs.append(blob) }
        }
        return blobs
    }

    private func neighbours(_ foreground: [Bool], _ column: Int, _ row: Int) -> Int {
        var count = -1
        for y in max(0, row - 1)...min(size.height - 1, row + 1) {
            for x in max(0, column - 1)...min(size.width - 1, column + 1) where foreground[y * size.width + x] {
                count += 1
            }
        }
        return count
    }

    private mutating func collect(from first: Int, _ isFresh: (Int) -> Bool) -> Blob {
        let (column, row) = (first % size.width, first / size.width)
        var blob = Blob(columns: column..<column + 1, rows: row..<row + 1)
        pending[first] = false
        stack.append(Int32(first))
        while let index = stack.popLast().map(Int.init) {
            let (column, row) = (index % size.width, index / size.width)
            blob.cells += 1
            if isFresh(index) { blob.fresh += 1 }
            blob.columns = min(blob.columns.lowerBound, column)..<max(blob.columns.upperBound, column + 1)
            blob.rows = min(blob.rows.lowerBound, row)..<max(blob.rows.upperBound, row + 1)
            for y in max(0, row - 2)...min(size.height - 1, row + 2) {
                for x in max(0, column - 2)...min(size.width - 1, column + 2) where pending[y * size.width + x] {
                    pending[y * size.width + x] = false
                    stack.append(Int32(y * size.width + x))
                }
            }
        }
        return blob
    }
}
