/// A user name and a password. Its description shows neither.
public struct HTTPCredential: Sendable, Hashable {
    /// The user's name.
    public var user: String
    /// The password.
    public var password: String

    /// Creates a credential.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}

extension HTTPCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "a user name and a password" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPCredential {
    /// A server's demand for a user name and a password.
    public struct Challenge: Sendable, Hashable {
        /// The name of the protected area; empty when the server states none.
        public var realm: String
        /// The authentication scheme: `Digest`, or `Basic`, which can be read on the network unless the address begins with
        /// `https`.
        public var scheme: String
        /// The server's name or address, with the port where it is not the default one.
        public var host: String
        /// The number of credentials that were rejected in this attempt, including those of the configuration and the address.
        public var previousFailureCount: Int

        /// Creates a challenge.
        public init(realm: String, scheme: String, host: String, previousFailureCount: Int) {
            self.realm = realm
            self.scheme = scheme
            self.host = host
            self.previousFailureCount = previousFailureCount
        }
    }
}
