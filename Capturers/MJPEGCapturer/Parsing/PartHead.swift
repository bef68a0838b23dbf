/// What the head of a part says, as far as it matters.
struct PartHead: Hashable {
    /// A head of more lines is none.
    static let mostLines = 100

    /// Nil when it is not stated, or in two ways.
    private(set) var contentLength: Int?
    /// Whether it says that the part is something else than a picture.
    private(set) var isForeign = false
    /// uStreamer's `X-Timestamp`: seconds since 1970 by the server's clock.
    private(set) var serverTime: Duration?
    private(set) var lineCount = 0
    private var hasLength = false

    init(contentLength: Int? = nil, serverTime: Duration? = nil) {
        self.contentLength = contentLength
        self.serverTime = serverTime
    }

    mutating func take(_ line: ArraySlice<UInt8>) {
        lineCount += 1
        guard let header = HeaderLine(line) else { return }
        if header.isNamed("content-length") {
            let length = ASCII.number(header.value)
            contentLength = hasLength && length != contentLength ? nil : length
            hasLength = true
        } else if header.isNamed("content-type") {
            // Without memory for the usual ones.
            guard !ASCII.hasPrefix(header.value, "image/jp") else { return }
            let type = ContentType(header.value)
            isForeign = !type.isPicture && !type.isVague
        } else if header.isNamed("x-timestamp") {
            serverTime = PartHead.time(header.value)
        }
    }

    /// Of `1700000000.123456`; nil for what is no time after 2001.
    private static func time(_ text: ArraySlice<UInt8>) -> Duration? {
        guard let seconds = ASCII.number(text), (1_000_000_000...100_000_000_000).contains(seconds) else { return nil }
        let fraction = text.drop { ASCII.isDigit($0) }
        guard fraction.first == 0x2E else { return .seconds(seconds) }
        let digits = fraction.dropFirst().prefix { ASCII.isDigit($0) }.prefix(9)
        var nanoseconds = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
        for _ in digits.count..<9 { nanoseconds *= 10 }
        return .seconds(seconds) + .nanoseconds(nanoseconds)
    }
}
