import VideoCapturing

/// A request for one frame.
struct StillRequest {
    enum Owner {
        case single
        /// A place in the order of a burst.
        case burst(UInt64, place: Int)
    }

    let id: UInt64
    let owner: Owner
    /// The moment that the picture is to show.
    let moment: MediaTime
    let settings: Still.Settings
    /// Only frames after it are taken.
    var bound: MediaTime?
    /// The wants of this request have not reached the capture yet.
    var awaitsWants: Bool
    /// How many frames after ``bound`` are passed over still, one by one.
    var skippedFrames: Int
    /// A frame was requested from the source, which delivers none without a request.
    var hasRequestedRefresh = false

    init(id: UInt64, owner: Owner, moment: MediaTime, settings: Still.Settings, awaitsWants: Bool) {
        self.id = id
        self.owner = owner
        self.moment = moment
        self.settings = settings
        self.awaitsWants = awaitsWants
        // The frame of the moment itself is not an earlier one.
        let isEarlierTaken = settings.allowsEarlierFrames && settings.skippedFrames == 0
        bound = isEarlierTaken ? nil : moment.advanced(by: .nanoseconds(-1))
        skippedFrames = settings.skippedFrames
    }

    /// Counts a skipped frame.
    mutating func passOver(_ frame: VideoFrame) {
        guard skippedFrames > 0, !awaitsWants, frame.timestamp > bound ?? moment else { return }
        skippedFrames -= 1
        bound = frame.timestamp
        // The next one may have to be asked for too.
        hasRequestedRefresh = false
    }
}

/// Who waits for a single request, called once and without a lock.
enum StillAnswer {
    /// For the encoded picture.
    case still(@Sendable (Result<Still, any Error>) -> Void)
    /// For the frame as it is, which no worker touches.
    case frame(@Sendable (Result<VideoFrame, any Error>) -> Void)

    func fail(_ error: any Error) {
        switch self {
        case .still(let handler): handler(.failure(error))
        case .frame(let handler): handler(.failure(error))
        }
    }
}

/// A frame to be encoded.
struct StillJob {
    let request: StillRequest
    let frame: VideoFrame
}

/// Consequences of a change of ``StillState``, which follow once it is unlocked.
struct StillEffects {
    /// Takes the next event of a burst; nil at its end.
    typealias EventReader = @Sendable (Result<StillCapture.BurstEvent?, any Error>) -> Void

    var jobs: [StillJob] = []
    var answers: [@Sendable () -> Void] = []
    var events: [(reader: EventReader, result: Result<StillCapture.BurstEvent?, any Error>)] = []
    /// Whether the scheduler has something new to plan.
    var wakesScheduler = false
}
