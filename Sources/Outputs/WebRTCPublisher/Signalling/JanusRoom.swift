import CaptureCore

/// A room of Janus's VideoRoom plugin, and how it is entered.
package struct JanusRoom: Sendable {
    /// How a room is made that is not there.
    package struct Creation: Sendable {
        /// Of the plugin's configuration, where it asks for one.
        package var adminKey: String?
        /// With which the room can be changed and destroyed; nil for a random one.
        package var secret: String?
        package var maximumPublishers = 6
        /// The limit of each publisher, in bits per second; 0 for none.
        package var bitrate = 0
        /// As in `vp8` and `h264`.
        package var videoCodec = "vp8"

        package init() {}
    }

    /// A number, or a text where Janus is configured with `string_ids`.
    package var name: String
    package var pin: String?
    /// Shown to the other participants.
    package var display: String?
    /// Nil to enter only a room that exists.
    package var creation: Creation?

    package init(_ name: String) { self.name = name }

    /// The name as Janus wants it.
    private var identifier: JSONValue {
        guard let number = Int64(name), number >= 0, String(number) == name else { return .string(name) }
        return .integer(number)
    }

    private func body(_ request: String, _ members: [(name: String, value: JSONValue?)]) -> JSONValue {
        .object(
            [("request", .string(request)), ("room", identifier)]
                + members.compactMap { member in member.value.map { (member.name, $0) } })
    }

    var joinBody: JSONValue {
        body(
            "joinandconfigure",
            [
                ("ptype", .string("publisher")), ("pin", pin.map { .string($0) }),
                ("display", display.map { .string($0) }),
            ])
    }

    func creationBody(_ creation: Creation, secret: String) -> JSONValue {
        body(
            "create",
            [
                ("admin_key", creation.adminKey.map { .string($0) }), ("secret", .string(secret)),
                ("pin", pin.map { .string($0) }), ("publishers", .count(creation.maximumPublishers)),
                ("bitrate", creation.bitrate > 0 ? .count(creation.bitrate) : nil),
                ("videocodec", .string(creation.videoCodec)), ("permanent", .bool(false)),
            ])
    }

    func destructionBody(secret: String) -> JSONValue { body("destroy", [("secret", .string(secret))]) }

    // MARK: - Errors

    /// The code of Janus for a room that exists already.
    static let existsCode: Int64 = 427

    /// The error for a failure of Janus or of the plugin, by their codes (janus/apierror.h, janus_videoroom.c).
    func error(_ failure: JanusMessage.Failure, subject: String) -> SignallingError {
        let reason = printable(failure.reason, limit: 120)
        let shown = printable(name, limit: 40)
        let (code, message): (SignallingErrorCode, String) =
            switch failure.code {
            case 426: (.notFound, "There is no room \(shown); create it in Janus, or allow this publisher to.")
            case 432:
                (.busy, "The room \(shown) has all the publishers that it takes; end one, or raise its `publishers`.")
            // The plugin says so of what it asks for, by the name.
            case 429 where failure.reason.contains("(pin)"):
                (.unauthorized, "The room \(shown) asks for a pin; give the one of its configuration.")
            case 429 where failure.reason.contains("(admin_key)"):
                (.unauthorized, "Janus asks for the VideoRoom plugin's admin key before it makes a room; give it.")
            case 433:
                (.unauthorized, "The room \(shown) refuses the pin or the key; check them against its configuration.")
            case 436: (.busy, "The room \(shown) has a participant with this identifier; leave it to Janus.")
            case 403, 405, 470: (.unauthorized, "Janus asks for its API secret; give the one of its configuration.")
            case 460, 461:
                (.notFound, "This Janus has no VideoRoom plugin; install it, or take it out of `disable`.")
            case 458, 459: (.ended, "Janus no longer has the session; publish again.")
            case 472: (.busy, "Janus takes no further sessions now; try again later.")
            case 431, 437, 464, 465:
                (.offerRefused, "Janus does not take the offer (\(reason)); check the codecs of the room \(shown).")
            case 450, 452...457, 467:
                (.invalidAnswer, "Janus does not take the request (\(reason)); its version may be too old.")
            default: (.serverFailed, "Janus has failed (\(reason)); look at its log, and try again.")
            }
        return SignallingError(
            code, operation: "publish to Janus", subject: subject, libraryCode: Int32(clamping: failure.code),
            message: message)
    }
}
