import MJPEGServer
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The server of a run: at its publisher like any other output, but one that loses frames rather than delay anyone.
final class ServingOutput: Sendable {
    /// Where the page is.
    let url: String
    private let server: MJPEGServer
    private let subscription: PublisherSubscription

    /// Begins to serve.
    ///
    /// - Parameter events: where warnings go.
    /// - Throws: `MJPEGServerError`, and `CaptureError` without threads.
    init(_ plan: ServingPlan, at publisher: VideoPublisher, events: RunEvents) throws {
        var configuration = MJPEGServerConfiguration()
        configuration.address = plan.address
        configuration.port = plan.port
        configuration.quality = plan.quality
        configuration.dropSameFrames = plan.dropSameFrames
        configuration.authentication = plan.login.map {
            MJPEGServerAuthentication(user: $0.name, password: $0.password)
        }
        configuration.tls = plan.certificate.map {
            MJPEGServerTLS(certificateChain: $0.path, privateKey: $0.keyPath)
        }
        server = MJPEGServer(configuration: configuration) {
            // Parts of them come from the network.
            events.post(warning: printable($0, limit: 500))
        }
        raiseDescriptorLimit()
        url = try server.start().url
        subscription = try server.attach(to: publisher)
    }

    /// Tells viewers why there is no picture.
    func sourceStateChanged(to state: CaptureState) { server.sourceStateChanged(to: state) }

    /// What its queue has counted.
    var consumer: ConsumerStatistics { subscription.statistics }

    /// What the viewers got.
    var statistics: MJPEGServerStatistics { server.statistics }

    /// Sends the viewers away. After the publisher's stop.
    func stop() { server.stop() }
}

/// Has the process open as many files as the server may have connections, where the user's own limit (`ulimit -Hn`) permits
/// that. Shells and services start programs with 1024, for the sake of those that use `select`, which this one does not.
private func raiseDescriptorLimit() {
    #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        let resource = RLIMIT_NOFILE
    #endif
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0, limits.rlim_cur < 4096 else { return }
    limits.rlim_cur = min(4096, limits.rlim_max)
    // Otherwise the server makes do with fewer connections, and says so.
    _ = setrlimit(resource, &limits)
}
