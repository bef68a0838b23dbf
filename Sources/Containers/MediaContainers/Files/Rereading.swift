/// Lets a pipe be read again from a mark: keeps what has been read since, and gives it once more.
struct Rereading {
    /// Where the mark is, in bytes from the start; nil when there is none.
    private(set) var mark: Int64?

    private var isKeeping = false
    private var kept: [UInt8] = []
    /// What is to be given again, from `next` on.
    private var again: [UInt8] = []
    private var next = 0

    /// - Parameter unread: what has been read from the pipe already but comes after the mark.
    mutating func mark(at position: Int64, unread: UnsafeRawBufferPointer, keeping: Bool) {
        mark = position
        isKeeping = keeping
        kept.removeAll(keepingCapacity: true)
        if keeping { kept.append(contentsOf: unread) }
    }

    mutating func forgetMark() {
        mark = nil
        isKeeping = false
        kept = []
    }

    mutating func returnToMark() {
        again = kept + again[next...]
        next = 0
        kept.removeAll(keepingCapacity: true)
    }

    /// Notes what has been read from the pipe.
    mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        if isKeeping { kept.append(contentsOf: bytes) }
    }

    /// Gives what is to be read again; 0 when nothing is.
    mutating func take(into bytes: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(bytes.count, again.count - next)
        guard count > 0 else { return 0 }
        again.withUnsafeBytes { source in
            bytes.baseAddress!.copyMemory(from: source.baseAddress! + next, byteCount: count)
        }
        next += count
        if next == again.count {
            again = []
            next = 0
        }
        return count
    }
}
