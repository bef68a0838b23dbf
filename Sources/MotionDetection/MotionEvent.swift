import VideoCapturing

/// Something begins to move, or no longer moves.
public struct MotionEvent: Sendable, Hashable {
    /// Which of the two. More cases may be added.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Something moves.
        case began
        /// Nothing has moved for ``MotionSettings/quietTime``.
        case ended
    }

    /// Which of the two.
    public var kind: Kind
    /// When the event began: the time of the first picture in which something moved.
    public var start: MediaTime
    /// The time of the last picture in which something moved, up to now.
    public var lastMotion: MediaTime
    /// The area that moved, as a fraction of the picture; at the end the largest of the event.
    public var area: Double
    /// The part of the picture in which something moved; at the end the part of the whole event.
    public var region: MotionRegion

    /// An event; see the properties.
    public init(kind: Kind, start: MediaTime, lastMotion: MediaTime, area: Double, region: MotionRegion) {
        self.kind = kind
        self.start = start
        self.lastMotion = lastMotion
        self.area = area
        self.region = region
    }
}

/// What a ``MotionAnalyzer`` found in one picture.
public struct MotionObservation: Sendable, Hashable {
    /// What kind of change the picture shows. More cases may be added.
    public enum Finding: String, Sendable, Hashable, CaseIterable {
        /// Nothing moves.
        case still
        /// Something moves.
        case moving
        /// The background is not known yet.
        case learning
        /// The light of the whole picture has changed at once, or the picture is of another place.
        case lightChanged
        /// The camera has moved.
        case cameraMoved
    }

    /// The time of the picture.
    public var timestamp: MediaTime
    /// What kind of change the picture shows.
    public var finding: Finding
    /// The area that differs from the background, in parts that are large enough to count; as a fraction of the picture.
    public var area: Double
    /// The part of the picture that holds this area; nil when there is not any.
    public var region: MotionRegion?
    /// Whether an event is under way.
    public var isInEvent: Bool
    /// The event that begins or ends here; nil for most pictures.
    public var event: MotionEvent?
}

/// Makes events of what single pictures show.
struct EventTimeline: Sendable {
    let minimumPictures: Int
    let quietTime: Duration
    /// The pictures in a row in which something moved, and the first of them.
    private var moving = 0
    private var firstMoving = MediaTime.zero
    private var current: MotionEvent?

    init(minimumPictures: Int, quietTime: Duration) {
        self.minimumPictures = max(1, minimumPictures)
        self.quietTime = max(.zero, quietTime)
    }

    var isInEvent: Bool { current != nil }

    /// Takes what one picture shows; area and region are those that move, nil where nothing does.
    mutating func take(_ motion: (area: Double, region: MotionRegion)?, at time: MediaTime) -> MotionEvent? {
        guard let motion else {
            moving = 0
            guard let event = current, time - event.lastMotion >= quietTime else { return nil }
            return end()
        }
        if moving == 0 { firstMoving = time }
        moving = min(moving + 1, minimumPictures)
        if var event = current {
            event.lastMotion = max(event.lastMotion, time)
            event.area = max(event.area, motion.area)
            event.region = event.region.union(motion.region)
            current = event
            return nil
        }
        guard moving >= minimumPictures else { return nil }
        current = MotionEvent(
            kind: .began, start: firstMoving, lastMotion: time, area: motion.area, region: motion.region)
        return current
    }

    /// Ends the event that is under way.
    mutating func end() -> MotionEvent? {
        moving = 0
        guard var event = current else { return nil }
        current = nil
        event.kind = .ended
        return event
    }
}
