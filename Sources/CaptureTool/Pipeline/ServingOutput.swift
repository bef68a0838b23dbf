import MJPEGServer
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The server of a run: an output that drops frames rather than delay others.
final class ServingOutput: Sendable {
    /// The URL of the page.
    let url: String
    private let server: MJPEGServer
    private let subscription: PublisherSubscription

    /// Starts the server.
    ///
    /// - Parameter events: where warnings are posted.
    /// - Throws: `MJPEGServerError`, and `CaptureError` without threads.
    init(_ plan: ServingPlan, at publisher: VideoPublisher, events: RunEvents) throws {
        var configuration = MJPEGServer.Configuration()
        configuration.address = plan.address
        configuration.port = plan.port
        configuration.quality = plan.quality
        configuration.dropSameFrames = plan.dropSameFrames
        configuration.authentication = plan.login.map {
            MJPEGServer.Configuration.Authentication(user: $0.name, password: $0.password)
        }
        configuration.tls = plan.certificate.map {
            MJPEGServer.Configuration.TLS(certificateChain: $0.path, privateKey: $0.keyPath)
        }
        server = MJPEGServer(configuration: configuration) {
            // Parts of them come from the network, and may be long.
            events.post(warning: printable($0, limit: 500))
        }
        raiseDescriptorLimit()
        url = try server.start().url
        subscription = try server.attach(to: publisher)
    }

    /// Shows the viewers why no frames arrive.
    func sourceStateChanged(to state: CaptureState) { server.sourceStateChanged(to: state) }

    /// The statistics of its queue.
    var consumer: PublisherStatistics.Consumer { subscription.statistics }

    /// The statistics of the server.
    var statistics: MJPEGServer.Statistics { server.statistics }

    /// Disconnects the viewers. Call it after the publisher's stop.
    func stop() { server.stop() }
}

/// Raises the limit of open files to the number of connections that the server may have, as far as the hard limit
/// (`ulimit -Hn`) permits. Shells and services set 1024 for the sake of programs that use `select`; this one does not.
private func raiseDescriptorLimit() {
    #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        let resource = RLIMIT_NOFILE
    #endif
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0, limits.rlim_cur < 4096 else { return }
    limits.rlim_cur = min(4096, limits.rlim_max)
    // On failure the server accepts fewer connections, and warns.
    _ = setrlimit(resource, &limits)
}
