/// A name and a password. Its description shows neither.
public struct MJPEGCredential: Sendable, Hashable {
    /// The user's name.
    public var user: String
    /// The password.
    public var password: String

    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}

extension MJPEGCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "a user name and a password" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A server's demand for a name and a password.
public struct MJPEGAuthenticationChallenge: Sendable, Hashable {
    /// What the server calls the place that it guards; empty when it has no name.
    public var realm: String
    /// How they would be sent, in the server's words: `Digest`, or `Basic`, which anyone on the way can read unless the
    /// address begins with `https`.
    public var scheme: String
    /// The server's name or address, with the port where it is not the usual one.
    public var host: String
    /// How many have been refused already in this attempt, those of the configuration and of the address included.
    public var previousFailureCount: Int

    public init(realm: String, scheme: String, host: String, previousFailureCount: Int) {
        self.realm = realm
        self.scheme = scheme
        self.host = host
        self.previousFailureCount = previousFailureCount
    }
}
