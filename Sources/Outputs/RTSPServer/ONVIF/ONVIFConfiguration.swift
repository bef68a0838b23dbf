extension RTSPServer.Configuration {
    /// A device of ONVIF: recorders find the server on the network, and ask it for the address of its stream.
    ///
    /// It serves the part of Profile S that recorders need (ONVIF Core and Media 1), with the login of the server by
    /// WS-UsernameToken. It is found by WS-Discovery if the server listens at an address that others reach.
    public struct ONVIF: Sendable, Hashable {
        /// The TCP port of its HTTP; 0 for any that is free. 80, 8000 and 8080 are usual.
        public var port: Int
        /// The URL of a JPEG image; nil for none. With the host `*` it is that by which a client has reached the device:
        /// `http://*:8080/snapshot`.
        public var snapshotURL: String?

        /// Makes it from a port and, optionally, a URL of an image.
        public init(port: Int, snapshotURL: String? = nil) {
            self.port = port
            self.snapshotURL = snapshotURL
        }

        /// Why it cannot be used; nil where it can.
        var problem: String? {
            guard (0...65_535).contains(port) else {
                return "The port of ONVIF is 0 (any that is free) to 65535, not \(port)."
            }
            guard let snapshotURL else { return nil }
            let isURL =
                ["http://", "https://"].contains { snapshotURL.hasPrefix($0) && snapshotURL.utf8.count > $0.utf8.count }
                && snapshotURL.utf8.allSatisfy { 0x21...0x7E ~= $0 }
            return isURL
                ? nil : "The URL of ONVIF's image begins with http:// or https://, as in http://*:8080/snapshot."
        }
    }
}
