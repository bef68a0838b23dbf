import VideoCapturing

extension CameraModeGroup {
    /// All formats that a camera lists, in its order. Lists are cut where ``ModeSearch`` cuts them.
    ///
    /// - Parameter isConvertible: whether libv4lconvert reads a format.
    static func all(
        from source: inout some ModeSource, isConvertible: (FourCC) -> Bool
    ) throws(CaptureError) -> [CameraModeGroup] {
        var groups: [CameraModeGroup] = []
        var seen: Set<FourCC> = []
        var pairs = 0
        for format in try source.formats().prefix(ModeSearch.enumerationLimit)
        where seen.insert(format.fourCC).inserted {
            groups.append(
                CameraModeGroup(
                    fourCC: format.fourCC, name: format.name,
                    cost: CaptureFormat.of(format.fourCC, isConvertible: isConvertible)?.cost,
                    isEmulated: format.isEmulated,
                    entries: try entries(of: format.fourCC, from: &source, pairs: &pairs)))
        }
        return groups
    }

    private static func entries(
        of fourCC: FourCC, from source: inout some ModeSource, pairs: inout Int
    ) throws(CaptureError) -> [Entry] {
        var sizes: [PixelSize] = []
        switch try source.frameSizes(of: fourCC) {
        case .discrete(let listed):
            sizes = Array(listed.prefix(ModeSearch.enumerationLimit))
        case .range(let range):
            guard let smallest = range.smallest, let largest = range.largest else { return [] }
            return try entries(of: fourCC, range, smallest, largest, from: &source, pairs: &pairs)
        case .unknown:
            for size in SizeLadder.common {
                if let (given, size) = try source.tryFormat(fourCC, size: size), given == fourCC { sizes.append(size) }
            }
        }
        var entries: [Entry] = []
        var seen: Set<PixelSize> = []
        for size in sizes where size.isValid && seen.insert(size).inserted && pairs < ModeSearch.pairLimit {
            pairs += 1
            entries.append(
                Entry(sizes: .discrete(size), rates: try rates(of: fourCC, size: size, from: &source)))
        }
        return entries
    }

    private static func entries(
        of fourCC: FourCC, _ range: FrameSizeRange, _ smallest: PixelSize, _ largest: PixelSize,
        from source: inout some ModeSource, pairs: inout Int
    ) throws(CaptureError) -> [Entry] {
        pairs += 2
        guard pairs <= ModeSearch.pairLimit else { return [] }
        let rates = try rates(of: fourCC, size: largest, from: &source)
        guard smallest != largest else { return [Entry(sizes: .discrete(largest), rates: rates)] }
        let step = PixelSize(width: max(1, range.stepWidth), height: max(1, range.stepHeight))
        let whole = Entry(sizes: .range(smallest: smallest, largest: largest, step: step), rates: rates)
        let ofSmallest = Entry(
            sizes: .discrete(smallest), rates: try self.rates(of: fourCC, size: smallest, from: &source))
        return ofSmallest.rates == rates ? [whole] : [whole, ofSmallest]
    }

    private static func rates(
        of fourCC: FourCC, size: PixelSize, from source: inout some ModeSource
    ) throws(CaptureError) -> Rates {
        switch try source.frameIntervals(of: fourCC, size: size) {
        case .discrete(let intervals):
            let rates = Set(intervals.prefix(ModeSearch.enumerationLimit).compactMap(\.frameRate))
            if !rates.isEmpty { return .discrete(rates.sorted(by: >)) }
        case .range(let shortest, let longest, _):
            // Some drivers exchange the two, or leave one out.
            let ends = [shortest.frameRate, longest.frameRate].compactMap { $0 }
            if let slowest = ends.min(), let fastest = ends.max() {
                return slowest == fastest ? .discrete([fastest]) : .range(slowest: slowest, fastest: fastest)
            }
        case .unknown: break
        }
        return .unlisted(current: try source.currentInterval()?.frameRate)
    }
}
