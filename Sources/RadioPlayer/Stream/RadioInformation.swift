import AudioCapturing
import HTTPTransport

/// What a server says of a stream in its headers.
public struct RadioInformation: Sendable, Hashable {
    /// The name of the station (`icy-name`).
    public var name: String?
    /// Its genre (`icy-genre`).
    public var genre: String?
    /// Its description (`icy-description`).
    public var description: String?
    /// Its page (`icy-url`).
    public var url: String?
    /// Bits per second, as the server states them (`icy-br`), which need not be true.
    public var statedBitrate: Int?
    /// As in `audio/mpeg`.
    public var contentType = ""
    /// The number of bytes of a file; nil for a live stream.
    public var contentLength: Int64?
    /// The address after redirects and playlists, without a user name and password.
    public var address = ""
    /// Whether titles come with the stream.
    public var hasMetadata = false
    /// All header lines: the names in lower case, in the order of the server.
    public var headers: [Header] = []

    /// A header line.
    public struct Header: Sendable, Hashable {
        /// The name, in lower case.
        public var name: String
        /// The value.
        public var value: String

        /// Creates a header line.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Creates an empty description.
    public init() {}

    /// The headers of a response.
    init(_ response: RadioResponse) {
        name = response.text("icy-name")
        genre = response.text("icy-genre")
        description = response.text("icy-description")
        url = response.text("icy-url")
        statedBitrate = response.text("icy-br").flatMap { Int($0.prefix { $0.isASCII && $0.isNumber }) }.flatMap {
            (1...100_000).contains($0) ? $0 * 1000 : nil
        }
        contentType = response.contentType
        address = response.address?.displayName ?? ""
        headers = response.fields.map { Header(name: $0.name, value: decodeICYText($0.value)) }
    }
}

/// What happened to a stream since it was opened. Cumulative.
public struct RadioStatistics: Sendable, Hashable {
    /// Connections that gave sound.
    public var connections: UInt64 = 0
    /// Requests for the stream, with those that failed.
    public var attempts: UInt64 = 0
    /// Bytes received, with heads and metadata.
    public var bytesReceived: UInt64 = 0
    /// MP3 frames decoded.
    public var framesDecoded: UInt64 = 0
    /// Bytes passed over that were neither frames nor tags.
    public var garbageBytes: UInt64 = 0
    /// Damages of the stream: gaps and garbage between frames.
    public var damages: UInt64 = 0
    /// Changes of rate or channels.
    public var formatChanges: UInt64 = 0
    /// Times when the sound ran out.
    public var underruns: UInt64 = 0
    /// Titles received.
    public var titles: UInt64 = 0
    /// The last error, also of those after which it went on; nil when there was none.
    public var lastError: RadioError?

    /// Statistics with all counters zero.
    public init() {}
}
