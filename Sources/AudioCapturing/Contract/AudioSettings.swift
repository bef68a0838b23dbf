/// What a sound capture delivers, or will when it is started.
public struct AudioSettings: Sendable, Hashable {
    /// Sample type, channels and rate.
    public var format: AudioFormat
    /// How long a chunk usually is; sources may deliver shorter and longer ones.
    public var chunkDuration: Duration
    /// The name of the source, for people: a microphone's name, a station's address.
    public var sourceName: String?
    /// Whether its times are those of the pictures that it belongs to, as the sound of a film: it begins with them, and comes
    /// as fast as they do.
    public var followsPictures: Bool

    /// Settings. A name and a password in a URL (`//user:password@`) are masked in the source's name.
    ///
    /// - Parameters:
    ///   - format: sample type, channels and rate.
    ///   - chunkDuration: how long a chunk usually is.
    ///   - sourceName: the name of the source, for people.
    ///   - followsPictures: whether its times are those of the pictures that it belongs to.
    public init(
        format: AudioFormat, chunkDuration: Duration = .milliseconds(20), sourceName: String? = nil,
        followsPictures: Bool = false
    ) {
        self.followsPictures = followsPictures
        self.format = format
        self.chunkDuration = chunkDuration
        self.sourceName = sourceName.map(maskingUserInfo)
    }

    /// The usual number of frames of a chunk; at least one.
    public var framesPerChunk: Int { Int(clamping: max(1, format.frames(in: chunkDuration))) }
}
