import VideoCapturing

/// The modes of a camera ordered by how well they serve a request, and the unusable formats.
struct ModeRanking: Sendable {
    /// A mode, and its role in the negotiation.
    struct Entry: Sendable, Hashable {
        var mode: CameraMode
        /// A slower variant of another entry, for a bus without the bandwidth for that.
        var isReserve = false
        /// The driver has set it already, with this rate.
        var isProven = false
    }

    let request: CameraMode.Request
    /// The best first.
    private(set) var entries: [Entry]
    /// The unusable formats, in the driver's order.
    let unusable: [CameraMode.Decision.RejectedMode]

    /// Orders the entries.
    init(request: CameraMode.Request, entries: [Entry], unusable: [CameraMode.Decision.RejectedMode]) {
        self.request = request
        self.unusable = unusable
        self.entries = ModeRanking.ordered(entries, for: request)
    }

    /// The handling of a format; nil for one that is neither among the camera's usable ones nor supported without
    /// libv4lconvert.
    func format(_ fourCC: FourCC) -> CaptureFormat? {
        request.format(fourCC) { name in entries.contains { $0.mode.fourCC == name } }
    }

    /// The modes without slower variants, the best first.
    var modes: [CameraMode] { entries.filter { !$0.isReserve }.map(\.mode) }

    /// The best first.
    ///
    /// A smaller size comes before the exact one only where that is slower than 15 frames per second and than the
    /// desired rate. As a rule between two modes this would not be transitive with a third, larger one; so the bucket
    /// of the smaller size is limited to that of the exact one that it must not overtake.
    static func ordered(_ entries: [Entry], for request: CameraMode.Request) -> [Entry] {
        let floor = min(15, request.rate)
        var keyed = entries.map { (entry: $0, key: ModeKey($0.mode, for: request)) }
        let limit =
            keyed.filter { $0.key.fit == .exact && !$0.entry.isReserve && ($0.entry.mode.rate ?? floor) >= floor }
            .map(\.key.bucket).max() ?? 0
        for index in keyed.indices where keyed[index].key.fit == .smaller {
            keyed[index].key.bucket = max(keyed[index].key.bucket, limit)
        }
        return keyed.sorted { $0.key < $1.key }.map(\.entry)
    }
}

/// The sort key of a mode; the lowest is the best.
///
/// With the rate first: the bucket, the fit of the size, the excess, the cost, the distance of the rates, the bytes,
/// the driver's order. With the size first: the bucket comes after the excess.
struct ModeKey {
    /// How a mode's size relates to the desired one.
    enum Fit: Int, Comparable {
        case exact
        /// Larger, with the same aspect ratio: scaled.
        case sameAspect
        /// Larger, with another aspect ratio: cropped and scaled.
        case otherAspect
        /// Smaller on one side at least.
        case smaller

        static func < (left: Fit, right: Fit) -> Bool { left.rawValue < right.rawValue }
    }

    /// The parts of a key.
    enum Part: Int, CaseIterable {
        case bucket, fit, excess, cost, distance, bytes, order
    }

    /// 0 for 99 % of the desired rate, 1 for 80 %, 2 for 50 %, 3 for less and for an unknown rate.
    var bucket: Int
    let fit: Fit
    /// The surplus pixels, or for smaller sizes the missing ones.
    let excess: Int
    let cost: CameraMode.ConversionCost
    /// The distance of the rate from the desired one: a fraction.
    private let distance: (numerator: Int64, denominator: Int64)
    let bytes: Int
    let order: Int
    private let policy: CameraMode.Request.Policy

    init(_ mode: CameraMode, for request: CameraMode.Request) {
        bucket = ModeKey.bucket(of: mode.rate, for: request.rate)
        fit = ModeKey.fit(of: mode.size, for: request.size)
        let covered = min(mode.width, request.size.width) * min(mode.height, request.size.height)
        excess = fit == .smaller ? request.size.pixelCount - covered : mode.size.pixelCount - request.size.pixelCount
        cost = mode.cost
        bytes = mode.bytesPerSecond
        order = mode.index
        policy = request.policy
        // |r − desired|, of which the desired rate's denominator is left out, being the same for all.
        let (desired, scale) = (Int64(request.rate.frames), Int64(request.rate.seconds))
        distance =
            mode.rate.map { rate in
                (abs(Int64(rate.frames) * scale - desired * Int64(rate.seconds)), Int64(rate.seconds))
            } ?? (.max, 1)
    }

    /// The first part, in the order of the policy, in which two keys differ, and whether this one is the better; nil
    /// when they do not differ.
    func difference(from other: ModeKey) -> (part: Part, isBetter: Bool)? {
        for part in ModeKey.parts(of: policy) {
            let order = compare(part, other)
            if order != 0 { return (part, order < 0) }
        }
        return nil
    }

    private static let ratesFirst: [Part] = [.bucket, .fit, .excess, .cost, .distance, .bytes, .order]
    private static let sizesFirst: [Part] = [.fit, .excess, .bucket, .cost, .distance, .bytes, .order]

    private static func parts(of policy: CameraMode.Request.Policy) -> [Part] {
        policy == .sizeFirst ? sizesFirst : ratesFirst
    }

    private func compare(_ part: Part, _ other: ModeKey) -> Int {
        func sign<Value: Comparable>(_ left: Value, _ right: Value) -> Int { left < right ? -1 : left > right ? 1 : 0 }
        switch part {
        case .bucket: return sign(bucket, other.bucket)
        case .fit: return sign(fit, other.fit)
        case .excess: return sign(excess, other.excess)
        case .cost: return sign(cost, other.cost)
        case .distance:
            return sign(
                Int128(distance.numerator) * Int128(other.distance.denominator),
                Int128(other.distance.numerator) * Int128(distance.denominator))
        case .bytes: return sign(bytes, other.bytes)
        case .order: return sign(order, other.order)
        }
    }

    static func bucket(of rate: FrameRate?, for desired: FrameRate) -> Int {
        guard let rate else { return 3 }
        return [99, 80, 50].firstIndex { rate.isAtLeast(percent: $0, of: desired) } ?? 3
    }

    static func fit(of size: PixelSize, for desired: PixelSize) -> Fit {
        if size == desired { return .exact }
        if size.width < desired.width || size.height < desired.height { return .smaller }
        return DeliveryPlan.crop(of: size, to: desired) == nil ? .sameAspect : .otherAspect
    }
}

extension ModeKey: Comparable {
    static func < (left: ModeKey, right: ModeKey) -> Bool { left.difference(from: right)?.isBetter ?? false }
    static func == (left: ModeKey, right: ModeKey) -> Bool { left.difference(from: right) == nil }
}
