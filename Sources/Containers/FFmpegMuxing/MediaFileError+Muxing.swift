import CLibAV
import FFmpegSupport
import MediaContainers
import VideoCapturing

// All errors of this module are made here.
extension MediaFileError {
    /// An error of the muxer.
    static func muxing(
        _ code: Code, _ operation: String, _ name: String, _ message: String, errno: Int32? = nil
    ) -> MediaFileError {
        MediaFileError(code, operation: operation, subject: name, errno: errno, message: message)
    }

    static func outOfMemory(_ name: String) -> MediaFileError {
        .muxing(
            .system, "write the output", name, "The machine has no memory left; close other programs.", errno: ENOMEM)
    }

    /// The error for what a call of the library returned.
    ///
    /// - Parameters:
    ///   - code: negative.
    ///   - operation: what was being done.
    ///   - target: where to.
    ///   - limit: how long its waits might take; nil where they have no limit.
    ///   - isCancelled: whether a wait was cancelled.
    init(
        av code: Int32, _ operation: String, _ target: OutputTarget, limit: Duration? = nil, isCancelled: Bool = false
    ) {
        switch code {
        case clibav_out_of_memory: self = .outOfMemory(target.name)
        // Some protocols turn the end of a wait into another error.
        case _ where isCancelled: self = .muxing(.interrupted, operation, target.name, "The output was cancelled.")
        case clibav_interrupted:
            let time = limit.map { " for \($0.seconds) s" } ?? ""
            self = .muxing(
                .stalled, operation, target.name,
                "The peer did not answer, or took nothing,\(time); check it and the network.")
        case clibav_http_unauthorized, clibav_http_forbidden:
            self = .muxing(
                .permissionDenied, operation, target.name, "The peer refuses the name or password; check both.")
        case clibav_http_not_found:
            self = .muxing(.notFound, operation, target.name, "The peer knows no such address; check its path.")
        case clibav_no_protocol:
            self = .muxing(.formatUnsupported, operation, target.name, "This FFmpeg lacks the protocol.")
        // The library negates numbers of the system; its own are far below them.
        case -4095 ... -1 where target.kind != .network && code != -EINVAL:
            self.init(errno: -code, operation: operation, subject: target.name)
        case -4095 ... -1 where target.kind == .network: self.init(networkErrno: -code, operation, target)
        default:
            self = .muxing(
                target.kind == .network ? .closedPipe : .formatUnsupported, operation, target.name,
                target.kind == .network
                    ? "The peer refuses the stream, or does not speak the protocol (\(describeAV(code)))."
                    : "The container \(target.containerName) cannot hold this (\(describeAV(code))); choose another.")
        }
    }

    private init(networkErrno code: Int32, _ operation: String, _ target: OutputTarget) {
        let (kind, message): (Code, String) =
            switch code {
            case ECONNREFUSED:
                (.unreachable, "The peer refuses the connection; check that it is running, and the port.")
            case ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN:
                (.unreachable, "The peer cannot be reached; check the address and the network.")
            case EPIPE, ECONNRESET, ECONNABORTED, ENOTCONN:
                (.closedPipe, "The peer has closed the connection; check its log.")
            case EACCES, EPERM: (.permissionDenied, "The system or the peer does not allow this; check the rights.")
            case EADDRINUSE: (.system, "The port is in use; choose another.")
            case EINVAL:
                (.formatUnsupported, "The URL or the tracks do not fit the protocol; check both.")
            case EIO where target.url.lowercased().hasPrefix("rtmps:"):
                (
                    .unreachable,
                    "The server cannot be reached, or its certificate is not trusted; check the address, and that this "
                        + "machine trusts who signed it (update-ca-certificates)."
                )
            default: (.unreachable, "The peer cannot be reached, or has closed the connection; check its address.")
            }
        self = .muxing(kind, operation, target.name, message, errno: code)
    }
}
