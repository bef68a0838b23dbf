import MJPEGServer
import VideoCapturing

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
        server = MJPEGServer(configuration: configuration) { events.post(notice: "warning: \($0)") }
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
