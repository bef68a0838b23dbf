/// Why a conversation with an X server has ended, or a request in it.
enum XFailure: Error {
    /// The server has closed the connection, or is gone.
    case gone
    /// The server is there, but does not answer.
    case silent
    /// The capture is being stopped.
    case stopping
    /// The server refuses this one request, with an error code of the protocol's (X11, 4).
    case refused(code: UInt8)
}
