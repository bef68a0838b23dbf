import AudioCapturing
import HTTPTransport

/// How a radio is received.
public struct RadioConfiguration: Sendable, Hashable {
    /// The user name and password; nil for those in the address. Sent only when the server demands them, and to no other
    /// host.
    public var credential: HTTPCredential?
    /// Which certificates of `https` servers are trusted.
    public var trust = HTTPServerTrust.verified
    /// The `User-Agent` header: some servers send a web page to browsers.
    public var userAgent = "swift-video-capturing"
    /// A proxy in curl's syntax, as in `http://proxy:3128`; empty for none; nil for that of the environment, but never for
    /// this machine itself.
    public var proxy: String?
    /// The timeout of a connection attempt, with name resolution and TLS. Below five seconds relays that start on demand
    /// are missed.
    public var connectTimeout: Duration = .seconds(5)
    /// How long nothing may come before a new connection is made.
    public var noDataTimeout: Duration = .seconds(8)
    /// How long the sound may be missing, while a connection is there that has given some, before a new one is made: a
    /// server that sends at the speed of sound never fills an empty buffer, but a new connection gets its burst. Sound
    /// that has come meanwhile, and is not enough to be played, extends it by its own length.
    public var silenceTimeout: Duration = .seconds(2)
    /// How much sound must be there before it is played, at the beginning and after an underrun.
    public var startLevel: Duration = .seconds(1)
    /// How much decoded sound is held at most.
    public var decodedLimit: Duration = .milliseconds(2500)
    /// How many bytes are held at most that are not decoded yet.
    public var compressedLimit = 256 * 1024
    /// How often a connection is tried that has never given sound.
    public var attemptsBeforeSound = 3
    /// How often in a row a connection is tried that gave no sound, after the stream has once played; nil for no limit.
    public var attemptsAfterLoss: Int?
    /// The delays before further attempts; the last one is repeated. The first attempt after the loss of a connection that
    /// has lasted for ten seconds is made at once.
    public var retryDelays: [Duration] = [.milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2)]

    /// Creates the default configuration.
    public init() {}

    /// Checks all values.
    ///
    /// - Throws: `invalidConfiguration` for a value that is out of range.
    public func validate() throws(RadioError) {
        for time in [connectTimeout, noDataTimeout, silenceTimeout, startLevel] where time <= .zero {
            throw error("Times must be longer than nothing.")
        }
        guard decodedLimit >= .milliseconds(100), decodedLimit <= .seconds(60), startLevel < decodedLimit else {
            throw error("100 ms to a minute of decoded sound can be held, and more than the level to start at.")
        }
        guard (64 * 1024...64 << 20).contains(compressedLimit) else {
            throw error("64 KB to 64 MB of the stream can be held; give a limit between.")
        }
        guard attemptsBeforeSound >= 1, attemptsAfterLoss ?? 1 >= 0, !retryDelays.isEmpty,
            retryDelays.allSatisfy({ $0 >= .zero })
        else { throw error("There is one attempt or more, after no negative time.") }
        for text in [userAgent, proxy ?? "", credential?.user ?? "", credential?.password ?? ""] {
            if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
                throw error("User agent, proxy, name and password must have no control characters.")
            }
        }
    }

    private func error(_ message: String) -> RadioError {
        RadioError(.invalidConfiguration, operation: "configure the radio", message: message)
    }
}
