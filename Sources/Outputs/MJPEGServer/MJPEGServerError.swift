import NIOCore
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An error of a server that cannot serve.
public typealias MJPEGServerError = MediaError<MJPEGServer.ErrorCode>

extension MJPEGServer {
    /// What can fail in a server.
    public enum ErrorCode: String, MediaErrorCode {
        /// A setting is out of range or does not fit the others.
        case invalidConfiguration
        /// Another program listens there.
        case addressInUse
        /// The machine has no such address.
        case addressNotFound
        /// The user may not listen there.
        case permissionDenied
        /// The certificate or its key cannot be used.
        case certificate
        /// The server serves already.
        case invalidState
        /// The operating system refused; see `MediaError.systemError`.
        case system

        public var category: ErrorCategory {
            switch self {
            case .invalidConfiguration: .usage
            case .addressInUse: .busy
            case .addressNotFound, .certificate: .notFound
            case .permissionDenied: .noPermission
            case .invalidState: .internal
            case .system: .unavailable
            }
        }
    }
}

extension MJPEGServerError {
    /// The error for a failure to listen.
    init(listening configuration: MJPEGServer.Configuration, _ error: any Error) {
        let path = configuration.socketPath
        let place = path ?? "\(configuration.address):\(configuration.port)"
        let code = (error as? IOError)?.errnoCode
        func failure(_ kind: Code, _ message: String) -> MJPEGServerError {
            MJPEGServerError(kind, operation: "listen", subject: place, errno: code, message: message)
        }
        switch code {
        case EADDRINUSE?:
            self = failure(
                .addressInUse,
                path == nil
                    ? "Another program listens at port \(configuration.port). End it (`ss -ltnp 'sport = :\(configuration.port)'` "
                        + "shows it), or choose another port; 0 takes any that is free."
                    : "Another program listens there, or a file is in the way. End it, or choose another path.")
        case EADDRNOTAVAIL?:
            self = failure(
                .addressNotFound,
                "This machine has no such address. `ip address` shows those that it has; 127.0.0.1 is itself, 0.0.0.0 all."
            )
        case EACCES?, EPERM?:
            self = failure(
                .permissionDenied,
                path == nil
                    ? "Ports below 1024 are the administrator's; choose a higher one."
                    : "You may not make a socket there; choose a folder of your own.")
        case ENOENT?, ENOTDIR?:
            self = failure(.addressNotFound, "There is no such folder; make it, or choose another path.")
        case EMFILE?, ENFILE?:
            self = failure(.system, "No more files and sockets can be opened. Raise the limit with `ulimit -n`.")
        case nil where error is SocketAddressError || error is SocketAddressError.UnknownHost:
            self = failure(
                .addressNotFound, "No address is known for this name (\(error)). Check it, or give an IP address.")
        default:
            self = failure(.system, "The system does not let the server listen there (\(error)).")
        }
    }
}
