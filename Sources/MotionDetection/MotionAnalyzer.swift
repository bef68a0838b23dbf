import VideoCapturing

/// Decides whether something moves, from small pictures of luma and their times alone: it has no thread and no clock, so the
/// same pictures give the same result at any speed.
///
/// ```swift
/// var analyzer = MotionAnalyzer(MotionSettings(minimumArea: 0.01))
/// let observation = analyzer.analyze(try LumaPlane(size: size, samples: samples), at: time)
/// if let event = observation.event { print(event.kind, event.area, event.region) }
/// ```
/// Each sample is a cell of the picture; ``pictureSize(for:)`` says how many are of use. The first second is for learning the
/// background, and so is the second after the size has changed, times have gone back, or a minute was left out. For one
/// thread at a time. ``MotionDetector`` does all of this for the frames of a capture.
public struct MotionAnalyzer: Sendable {
    /// What counts as motion.
    public let settings: MotionSettings

    private var events: EventTimeline
    private var grid: MotionGrid?
    private var last: MediaTime?
    /// The share of the last picture that differed from the background.
    private var lastFraction = 0.0

    /// The longer side of the pictures.
    private static let side = 160
    /// After a longer pause the background is learned again.
    private static let longestPause = Duration.seconds(60)

    /// An analyzer that has seen nothing.
    public init(_ settings: MotionSettings = MotionSettings()) {
        self.settings = settings
        events = EventTimeline(minimumPictures: settings.minimumPictures, quietTime: settings.quietTime)
    }

    /// The size to which a picture is reduced for ``analyze(_:at:)``: at most 160 samples on a side, of the same aspect, and
    /// never larger than the picture.
    public static func pictureSize(for size: PixelSize) -> PixelSize {
        let longer = max(size.width, size.height)
        guard longer > side else { return PixelSize(width: max(1, size.width), height: max(1, size.height)) }
        func scaled(_ length: Int) -> Int { max(1, Int((Double(length) * Double(side) / Double(longer)).rounded())) }
        return PixelSize(width: scaled(size.width), height: scaled(size.height))
    }

    /// Compares a picture with those before.
    public mutating func analyze(_ plane: LumaPlane, at timestamp: MediaTime) -> MotionObservation {
        let seconds = advance(to: timestamp)
        var grid = takeGrid(plane.size)
        defer { self.grid = grid }
        guard let seconds, grid.model != nil else {
            if grid.model == nil { grid.model = makeModel(plane) } else { grid.model?.restart(plane) }
            lastFraction = 0
            return observation(.learning, at: timestamp, event: events.end())
        }
        if grid.model!.isLearning {
            grid.model!.learn(plane, seconds)
            return observation(.learning, at: timestamp, event: events.take(nil, at: timestamp))
        }
        grid.model!.compare(plane)
        let fraction = Double(grid.model!.foregroundCount) / Double(plane.samples.count)
        // Before the light was fitted: cells that are black or white in the new light do not fit.
        let changed = Double(grid.model!.changedCount) / Double(plane.samples.count)
        if lastFraction < changed / 4, isLightSwitch(changed, grid) {
            grid.model!.restart(plane)
            lastFraction = 0
            return observation(.lightChanged, at: timestamp, event: events.take(nil, at: timestamp))
        }
        let explained = grid.cameraShift(plane)
        if let explained { grid.model!.adopt(plane, where: explained) }
        let hasShifted = explained != nil
        lastFraction = fraction
        let motion = grid.motion(seconds, isShaken: hasShifted)
        if hasShifted, motion == nil {
            grid.model!.adopt(plane, where: [Bool](repeating: true, count: plane.samples.count))
        }
        grid.model!.update(plane, seconds)
        let event = events.take(motion, at: timestamp)
        return observation(
            motion != nil ? .moving : hasShifted ? .cameraMoved : .still, at: timestamp, motion: motion, event: event)
    }

    /// Takes damage that the source itself has stated (`VideoFrame.damage`), as screens do: that is motion, without a look at
    /// the pixels.
    ///
    /// - Parameters:
    ///   - damage: what differs from the frame before, in pixels of the buffer; empty for nothing.
    ///   - size: the size of the buffer.
    ///   - orientation: the clockwise rotation to apply for display.
    ///   - timestamp: the time of the frame.
    public mutating func analyze(
        damage: [PixelRect], of size: PixelSize, orientation: VideoOrientation = .up, at timestamp: MediaTime
    ) -> MotionObservation {
        let ended = advance(to: timestamp) == nil ? events.end() : nil
        var motion: (area: Double, region: MotionRegion)?
        if !damage.isEmpty, size.isValid {
            // A background that has changed without a look at it is of no use.
            grid?.model = nil
            lastFraction = 0
            var grid = takeGrid(Self.pictureSize(for: orientation.swapsDimensions ? size.transposed : size))
            motion = grid.motion(damage.compactMap { MotionRegion($0, of: size, orientation: orientation) })
            self.grid = grid
        }
        let event = events.take(motion, at: timestamp) ?? ended
        return observation(motion != nil ? .moving : .still, at: timestamp, motion: motion, event: event)
    }

    /// Ends the event that is under way, where no picture follows.
    ///
    /// - Returns: the end of the event; nil when there is not one.
    public mutating func finish() -> MotionEvent? { events.end() }

    /// The seconds since the last picture; nil for the first, and where the line of times is broken.
    private mutating func advance(to timestamp: MediaTime) -> Float? {
        defer { last = timestamp }
        guard let last, timestamp >= last else { return nil }
        let elapsed = timestamp - last
        return elapsed > Self.longestPause ? nil : Float(elapsed.seconds)
    }

    private mutating func takeGrid(_ size: PixelSize) -> MotionGrid {
        if let grid = grid.take(), grid.size == size { return grid }
        return MotionGrid(size, settings)
    }

    private func makeModel(_ plane: LumaPlane) -> BackgroundModel {
        let sensitivity = MotionSettings.clamped(settings.sensitivity, 0...1, or: 0.5)
        // 6 levels at the default: a step of light that is just seen in a dark room.
        var base: Float = 6
        if sensitivity < 0.5 { base += Float(0.5 - sensitivity) * 2 * base }
        if sensitivity > 0.5 { base -= Float(sensitivity - 0.5) * base }
        let seconds = Float(settings.stationaryTime.nanoseconds) / 1e9
        return BackgroundModel(plane, baseDifference: base, stationaryTime: max(BackgroundModel.freshTime, seconds))
    }

    private func isLightSwitch(_ fraction: Double, _ grid: MotionGrid) -> Bool {
        let limit = MotionSettings.clamped(settings.lightSwitchFraction, 0.05...1, or: 0.5)
        guard limit < 1, fraction >= limit / 2 else { return false }
        // A light that reaches all corners is one with less than the fraction, too.
        return fraction >= limit || grid.changedBlocks() >= 13
    }

    private func observation(
        _ finding: MotionObservation.Finding, at timestamp: MediaTime,
        motion: (area: Double, region: MotionRegion)? = nil, event: MotionEvent?
    ) -> MotionObservation {
        MotionObservation(
            timestamp: timestamp, finding: finding, area: motion?.area ?? 0, region: motion?.region,
            isInEvent: events.isInEvent, event: event)
    }
}

/// The cells of pictures of one size, and their background.
struct MotionGrid: Sendable {
    let size: PixelSize
    /// Nil until there was a picture.
    var model: BackgroundModel?
    private let watched: [Bool]
    private let minimumCells: Int
    private var blobs: MotionBlobs

    init(_ size: PixelSize, _ settings: MotionSettings) {
        self.size = size
        watched = settings.watchedCells(size)
        blobs = MotionBlobs(size)
        let area = MotionSettings.clamped(settings.minimumArea, 0...1, or: 0.005)
        let wanted = Int((area * Double(size.pixelCount)).rounded(.up))
        let watchedCount = watched.count { $0 }
        minimumCells = max(1, min(wanted, (watchedCount + 2) / 3))
    }

    /// The area in the foreground that moves, and the part of the picture that holds it. Before a shaken camera it must be twice
    /// as large.
    mutating func motion(_ seconds: Float, isShaken: Bool) -> (area: Double, region: MotionRegion)? {
        guard let model, model.foregroundCount > 0 else { return nil }
        let minimum = isShaken ? 2 * minimumCells : minimumCells
        let found = blobs.find(model.foreground, watched: watched, minimum: minimum) {
            model.isFresh($0, seconds)
        }
        return sum(found.filter { $0.fresh >= max(1, minimumCells / 8) })
    }

    /// The same of parts that are known to have changed.
    mutating func motion(_ damage: [MotionRegion]) -> (area: Double, region: MotionRegion)? {
        var changed = [Bool](repeating: false, count: size.pixelCount)
        for part in damage {
            let (columns, rows) = part.cells(size)
            for row in rows { for column in columns { changed[row * size.width + column] = true } }
        }
        return sum(blobs.find(changed, watched: watched, minimum: minimumCells) { _ in true })
    }

    private func sum(_ blobs: [MotionBlobs.Blob]) -> (area: Double, region: MotionRegion)? {
        guard let first = blobs.first else { return nil }
        var region = MotionRegion(columns: first.columns, rows: first.rows, of: size)
        for blob in blobs.dropFirst() {
            region = region.union(MotionRegion(columns: blob.columns, rows: blob.rows, of: size))
        }
        let cells = blobs.reduce(0) { $0 + $1.cells }
        return (Double(cells) / Double(size.pixelCount), region)
    }

    /// Where a movement of the camera explains the picture; nil where it does not explain half of the foreground, or the foreground
    /// is in one place.
    func cameraShift(_ plane: LumaPlane) -> [Bool]? {
        guard let model, model.foregroundCount * 100 > plane.samples.count, changedBlocks() >= 7 else { return nil }
        let shift = CameraShift(plane, model.mean)
        let matches = shift.matches(plane, model.mean, tolerance: model.baseDifference)
        let explained = matches.indices.count { matches[$0] && model.foreground[$0] }
        return explained * 2 > model.foregroundCount ? matches : nil
    }

    /// In how many of sixteen blocks more than 3 % of the cells are in the foreground.
    func changedBlocks() -> Int {
        guard let model else { return 0 }
        var (changed, cells) = ([Int](repeating: 0, count: 16), [Int](repeating: 0, count: 16))
        for row in 0..<size.height {
            for column in 0..<size.width {
                let block = row * 4 / size.height * 4 + column * 4 / size.width
                cells[block] += 1
                let index = row * size.width + column
                if model.foreground[index] { changed[block] += 1 }
            }
        }
        return (0..<16).count { changed[$0] * 100 > cells[$0] * 3 }
    }
}
