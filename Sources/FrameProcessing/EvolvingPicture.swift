import VideoCapturing

/// A picture that changes in parts, such as a screen: each state of it is a separate buffer that never changes,
/// and costs only the parts that changed since.
///
/// ```
/// buffers   ┌ newest ┐   ┌ one behind: ▒ ┐   ┌ two behind: ▒ ░ ┐
///           └────────┘   └───────────────┘   └─────────────────┘
/// ```
/// It keeps some buffers, and for each the parts that have changed since it was the newest. The next state goes into one
/// that no consumer holds any longer: these parts are copied from the newest, then the new parts are painted. The
/// newest itself is painted on when there is no other reference to it, which copies nothing.
///
/// For one thread at a time.
public struct EvolvingPicture {
    /// Pixel format and size.
    public let format: VideoFormat

    fileprivate struct Version {
        var buffer: PixelBuffer
        /// The parts that have changed since it was the newest; nil when that may be everything.
        var missing: [PixelRect]?
    }

    private let capacity: Int
    private var versions: [Version] = []
    private var newest = 0

    /// - Parameters:
    ///   - format: pixel format and size; not a compressed one.
    ///   - capacity: the most buffers that are kept; states beyond what consumers hold of them cost a whole copy.
    public init(_ format: VideoFormat, capacity: Int = 8) {
        self.format = format
        self.capacity = max(2, capacity)
        versions.reserveCapacity(self.capacity)
    }

    /// Whether there is no state to go on from, so that the next one is painted whole.
    public var isEmpty: Bool { versions.isEmpty }

    /// The next state of the picture.
    ///
    /// - Parameters:
    ///   - damage: what differs from the last state, in parts that the format can have (even coordinates for 4:2:0, or
    ///     the picture's edge); nil for all of it.
    ///   - paint: writes the pixels of `damage`, all of them; the rest is in place already.
    /// - Throws: `outOfMemory`, `invalidConfiguration` for a part that the format cannot have, and what `paint` throws;
    ///   the picture ``isEmpty`` after that.
    public mutating func update(
        _ damage: [PixelRect]?, paint: (borrowing PixelWriter) throws(CaptureError) -> Void
    ) throws(CaptureError) -> PixelBuffer {
        let isWhole = damage == nil
        if let damage {
            let arePossible = damage.allSatisfy {
                $0.isPart(ofWidth: format.imageWidth, height: format.imageHeight, as: format.pixelFormat)
            }
            guard arePossible, !versions.isEmpty else {
                throw CaptureError(
                    .invalidConfiguration, operation: "change a picture", subject: "\(damage)",
                    message: "There must be a picture first; its parts must lie in it and cut no chroma sample.")
            }
        }
        let index = try indexOfFreeVersion()
        do throws(CaptureError) {
            let target = versions[index].buffer.makeWriter()
            if !isWhole, index != newest { try bringUpToDate(versions[index], target, except: damage ?? []) }
            try paint(target)
        } catch {
            // Half painted: no state to go on from.
            versions.removeAll(keepingCapacity: true)
            throw error
        }
        for other in versions.indices where other != index { versions[other].owe(isWhole ? nil : damage) }
        versions[index].missing = []
        newest = index
        return versions[index].buffer
    }

    /// Prefers the newest, which lacks nothing, then the one that lacks least.
    private mutating func indexOfFreeVersion() throws(CaptureError) -> Int {
        var best: (index: Int, missing: Int)?
        for index in versions.indices where PixelBuffer.isReusable(&versions[index].buffer) {
            let missing = versions[index].missingPixels ?? format.imageWidth * format.imageHeight
            if best.map({ missing < $0.missing }) ?? true { best = (index, missing) }
        }
        if let best { return best.index }
        let made = try PixelBuffer(
            allocating: format.pixelFormat, width: format.imageWidth, height: format.imageHeight)
        if versions.count < capacity {
            versions.append(Version(buffer: made, missing: nil))
            return versions.count - 1
        }
        // Consumers hold them all: the oldest is theirs alone from now on.
        let oldest = versions.indices.first { $0 != newest } ?? 0
        versions[oldest] = Version(buffer: made, missing: nil)
        return oldest
    }

    private func bringUpToDate(
        _ version: Version, _ target: borrowing PixelWriter, except damage: [PixelRect]
    ) throws(CaptureError) {
        let whole = PixelRect(x: 0, y: 0, width: format.imageWidth, height: format.imageHeight)
        let parts = version.missing ?? [whole]
        try versions[newest].buffer.withPicture { (source) throws(CaptureError) in
            try target.withPicture { (target) throws(CaptureError) in
                for part in parts where !damage.contains(where: { $0.contains(part) }) {
                    source.cropped(to: part).copy(into: MutablePicture(picture: target.picture.cropped(to: part)))
                }
            }
        }
    }
}

extension EvolvingPicture.Version {
    /// Beyond these a list costs more than the whole picture.
    private static let maximumParts = 64

    var missingPixels: Int? {
        missing.map { $0.reduce(0) { $0 + $1.width * $1.height } }
    }

    mutating func owe(_ damage: [PixelRect]?) {
        guard let damage, var parts = missing, parts.count + damage.count <= Self.maximumParts else {
            missing = nil
            return
        }
        // A part that changes repeatedly, such as a clock, is listed once.
        parts.removeAll { part in damage.contains { $0.contains(part) } }
        for part in damage where !parts.contains(where: { $0.contains(part) }) { parts.append(part) }
        missing = parts
    }
}

extension PixelRect {
    /// Whether all of `other` lies inside.
    func contains(_ other: PixelRect) -> Bool {
        other.x >= x && other.y >= y && other.x + other.width <= x + width && other.y + other.height <= y + height
    }
}
