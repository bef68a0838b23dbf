import AudioCapturing

extension RadioPlayer {
    /// Where a player is, as AudioStreamer has it.
    ///
    /// ```
    /// initialized ─start─▶ starting ─▶ waitingForData ─▶ waitingForRendererToStart ─▶ playing ◀─▶ buffering
    ///      ▲                                  ▲                                          │
    ///      │                                  └───────────────── seek ───────────────────┤
    ///      └──── stopped ◀──── stopping ◀──── stop, error, end ◀──── flushingEnd ◀───────┘
    /// ```
    /// From starting to flushingEnd a player can be paused, and goes on where it would be by then.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Nothing is acquired; where every player begins, and where it rests after a stop. (`AS_INITIALIZED`)
        case initialized
        /// Start was called; the address is being read. (`AS_STARTING_FILE_THREAD`)
        case starting
        /// A connection is being made, or the first sound is awaited; also after a seek. (`AS_WAITING_FOR_DATA`)
        case waitingForData
        /// There is enough sound, and the renderer is about to get it. (`AS_WAITING_FOR_QUEUE_TO_START`)
        case waitingForRendererToStart
        /// Sound is heard. (`AS_PLAYING`)
        case playing
        /// The sound has run out, and more is awaited. (`AS_BUFFERING`)
        case buffering
        /// The whole file was received; the rest is played. (`AS_FLUSHING_EOF`)
        case flushingEnd
        /// The player was paused. (`AS_PAUSED`)
        case paused
        /// The player is being stopped. (`AS_STOPPING`)
        case stopping
        /// The renderer is closed. (`AS_STOPPED`)
        case stopped
    }

    /// Why a player has stopped, or is stopping.
    public enum StopReason: String, Sendable, Hashable, CaseIterable {
        /// It has not stopped since the last start. (`AS_NO_STOP`)
        case none
        /// The file was played to its end. (`AS_STOPPING_EOF`)
        case endOfStream
        /// Stop was called. (`AS_STOPPING_USER_ACTION`)
        case userAction
        /// An error; see ``RadioPlayer/error``. (`AS_STOPPING_ERROR`)
        case error
        /// A seek goes on elsewhere. (`AS_STOPPING_TEMPORARILY`)
        case temporarily
    }

    /// One step in the life of a player.
    public struct StateChange: Sendable, Hashable {
        /// Who or what made the state change.
        public enum Reason: Sendable, Hashable {
            /// A call of the application.
            case requested
            /// The stream: sound came, ran out, or has ended.
            case stream
            /// A seek.
            case seek
            /// A failure.
            case failure(RadioError)
        }

        /// The state before.
        public var old: State
        /// The state now.
        public var new: State
        /// Who or what made the state change.
        public var reason: Reason

        /// Creates a change.
        public init(old: State, new: State, reason: Reason) {
            self.old = old
            self.new = new
            self.reason = reason
        }
    }

    /// What a player shows at a moment.
    public struct Status: Sendable, Hashable {
        /// The state.
        public var state = State.initialized
        /// How much was heard since the start; in a file the time from its beginning.
        public var progress: Duration = .zero
        /// How long the file is; nil for a station, and before it is known.
        public var duration: Duration?
        /// Bits per second, averaged over up to 5000 frames; 0 before the first one.
        public var bitrate: Double = 0
        /// The sound received and not yet heard.
        public var buffered: Duration = .zero
        /// The largest sample of each channel of late, 1 for full scale, before the volume.
        public var peaks: [Float] = []
        /// The title, as the station writes it; nil without one.
        public var title: String?
        /// What the server says of the stream; nil before its answer.
        public var information: RadioInformation?
        /// What happened to the stream since the start.
        public var statistics = RadioStatistics()
        /// How much longer than nominal the sound is made to hold the level, in millionths.
        public var rateCorrection: Double = 0

        /// Creates the status of a player that has not been started.
        public init() {}
    }

    /// A title that is heard from now on.
    public struct Title: Sendable, Hashable {
        /// The title, as the station writes it.
        public var text: String
        /// The address that came with it; nil for none.
        public var url: String?
        /// How much had been heard when it began.
        public var position: Duration

        /// Creates a title.
        public init(text: String, url: String? = nil, position: Duration) {
            self.text = text
            self.url = url
            self.position = position
        }
    }
}
