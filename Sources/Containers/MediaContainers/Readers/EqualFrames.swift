import VideoCapturing

/// The position in a file whose frames all take the same number of bytes and come at a fixed rate: raw samples and Y4M.
struct EqualFrames {
    /// Where the first frame begins in the file.
    let start: Int64
    /// The bytes of a frame, those before its samples included.
    let frameBytes: Int
    let rate: FrameRate
    /// The number of the next frame.
    private(set) var index: Int64 = 0
    private var hasEnded = false

    init(start: Int64, frameBytes: Int, rate: FrameRate) {
        self.start = start
        self.frameBytes = frameBytes
        self.rate = rate
    }

    /// How many frames `byteCount` bytes hold.
    func count(in byteCount: Int64) -> Int64 { byteCount / Int64(frameBytes) }

    /// The next frame, as `read` gives it, with its time; nil at the end, and after an error other than `interrupted`.
    mutating func next(
        _ file: InputFile, _ read: () throws -> PixelBuffer?
    ) throws -> (buffer: PixelBuffer, timestamp: Duration)? {
        guard !hasEnded else { return nil }
        // True until the frame is complete, so that nothing follows an error.
        hasEnded = true
        do {
            guard let buffer = try file.whole(read) else { return nil }
            hasEnded = false
            defer { index += 1 }
            return (buffer, rate.time(ofFrame: index))
        } catch let error as MediaFileError where error.code == .interrupted {
            hasEnded = false
            throw error
        }
    }

    /// Where a frame begins in the file.
    func offset(of index: Int64) -> Int64 { start + index * Int64(frameBytes) }

    /// The number of the frame that is shown at `time`, or of the last one.
    func frameIndex(at time: Duration, in file: InputFile) -> Int64 {
        let count = file.size.map { self.count(in: $0 - start) } ?? 0
        return max(0, min(rate.frameIndex(at: time), count - 1))
    }

    /// The file has been moved to the beginning of a frame.
    mutating func moveOn(to index: Int64) {
        self.index = index
        hasEnded = false
    }
}
