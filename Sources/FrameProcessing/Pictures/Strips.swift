/// Runs `body` with the rows of a picture in runs that are short enough for what lies between two steps
/// to stay in the cache. Each run but the last is even, so that none divides a row of chroma.
func forEachStrip<Failure: Error>(
    ofHeight height: Int, rows: Int, _ body: (Range<Int>) throws(Failure) -> Void
) throws(Failure) {
    var row = 0
    while row < height {
        let next = min(row + rows, height)
        try body(row..<next)
        row = next
    }
}

/// The rows of a strip where pixels lie between the steps: of 1280 in four bytes they take 80 KiB.
let pixelStripRows = 16

/// The rows of a strip where only chroma of half the width and height does: of 1280 pixels 40 KiB.
let chromaStripRows = 64
