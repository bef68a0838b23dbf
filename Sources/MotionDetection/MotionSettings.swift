import VideoCapturing

/// What counts as motion. Values out of range are clamped.
public struct MotionSettings: Sendable, Hashable {
    /// The smallest connected area that counts, as a fraction of the picture; 0.005 unless set. A person at 10 m fills some
    /// 0.02 of the picture of a usual camera. Where zones or a mask leave little of the picture, a third of the watched part
    /// is enough.
    public var minimumArea: Double
    /// How small a difference in brightness counts, from 0 to 1; 0.5 unless set. Each step of 0.5 halves the difference.
    public var sensitivity: Double
    /// The parts of the picture to watch; empty, the default, for all of it.
    public var watchedZones: [MotionRegion]
    /// The parts of the picture to ignore, such as a tree or a road. They win over ``watchedZones``.
    public var ignoredZones: [MotionRegion]
    /// The parts of the picture to watch as a picture, in addition to the zones; nil for none.
    public var mask: MotionMask?
    /// The fraction of the picture that changes at once when the light is switched; 0.5 unless set. Such a change is no
    /// motion. 1 turns this off.
    public var lightSwitchFraction: Double
    /// In how many pictures in a row something must move before an event begins; 2 unless set.
    public var minimumPictures: Int
    /// How long nothing must move before an event ends; 2 seconds unless set.
    public var quietTime: Duration
    /// After which time an object that has stopped belongs to the background; 10 seconds unless set.
    public var stationaryTime: Duration
    /// How many pictures per second are analyzed; 10 unless set. More find faster objects and cost more.
    public var pictureRate: FrameRate

    /// Settings; see the properties.
    public init(
        minimumArea: Double = 0.005, sensitivity: Double = 0.5, watchedZones: [MotionRegion] = [],
        ignoredZones: [MotionRegion] = [], mask: MotionMask? = nil, lightSwitchFraction: Double = 0.5,
        minimumPictures: Int = 2, quietTime: Duration = .seconds(2), stationaryTime: Duration = .seconds(10),
        pictureRate: FrameRate = 10
    ) {
        self.minimumArea = minimumArea
        self.sensitivity = sensitivity
        self.watchedZones = watchedZones
        self.ignoredZones = ignoredZones
        self.mask = mask
        self.lightSwitchFraction = lightSwitchFraction
        self.minimumPictures = minimumPictures
        self.quietTime = quietTime
        self.stationaryTime = stationaryTime
        self.pictureRate = pictureRate
    }
}

extension MotionSettings {
    /// Which cells of a picture are watched.
    func watchedCells(_ size: PixelSize) -> [Bool] {
        var cells = [Bool](repeating: watchedZones.isEmpty, count: size.pixelCount)
        func set(_ zones: [MotionRegion], _ value: Bool) {
            for zone in zones {
                let (columns, rows) = zone.cells(size)
                for row in rows { for column in columns { cells[row * size.width + column] = value } }
            }
        }
        set(watchedZones, true)
        set(ignoredZones, false)
        guard let mask else { return cells }
        for row in 0..<size.height {
            for column in 0..<size.width where !mask.isWatched(column, row, of: size) {
                cells[row * size.width + column] = false
            }
        }
        return cells
    }

    /// The fraction, or the default where it is not a number.
    static func clamped(_ value: Double, _ range: ClosedRange<Double>, or standard: Double) -> Double {
        value.isNaN ? standard : min(max(value, range.lowerBound), range.upperBound)
    }
}
