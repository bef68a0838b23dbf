import FrameProcessing
import HTTPTransport
import VideoCapturing

extension MJPEGSource {
    /// The maximum number of demands for a password that are answered.
    private static let maximumAttempts = 10

    /// Connects and waits for the first image, which is the first of the queue then.
    ///
    /// Throws an error for the user; ``FrameContext/isStopping`` ends it with `invalidState`.
    func connect(_ context: FrameContext) throws(CaptureError) {
        guard let address, let transfer else { return }
        status.reportStart()
        var failures = 0
        while true {
            try begin(context)
            do throws(CaptureError) {
                try awaitFirstPicture(context)
                return didConnect()
            } catch {
                disconnect()
                // No credentials for another host after a redirect.
                let isDemand = transfer.head.status == 401 && !failure.isElsewhere(transfer) && !context.isStopping
                guard isDemand, error.code == .permissionDenied, let best = transfer.head.challenges.best else {
                    throw error
                }
                if credential != nil { failures += 1 }
                guard failures < MJPEGSource.maximumAttempts,
                    let given = status.requestCredential(
                        MJPEGCapturer.Credential.Challenge(
                            realm: best.realm, scheme: best.scheme, host: address.host, previousFailureCount: failures))
                else { throw error }
                credential = given
            }
        }
    }

    /// Sends the request; when polling, the next one of the same connection.
    func begin(_ context: FrameContext) throws(CaptureError) {
        guard let address, let transfer else { return }
        let now = timeoutClock.now
        connection = StreamConnection(began: now, requested: context.now)
        backlog.beginConnection()
        lastRead = context.now
        isDrained = false
        transfer.onBody = { [unowned self] bytes in takeBody(bytes, context) }
        var request = HTTPRequest(address: address)
        request.credential = credential
        request.trust = configuration.trust
        request.connectTimeout = configuration.connectTimeout
        request.userAgent = configuration.userAgent
        request.proxy = configuration.proxy
        request.ignoresLength = !isPolled
        request.leniency = leniency
        try transfer.begin(request)
    }

    private func awaitFirstPicture(_ context: FrameContext) throws(CaptureError) {
        let limit = timeoutClock.now.advanced(by: configuration.connectTimeout + configuration.stallTimeout * 2)
        while backlog.isEmpty {
            guard !context.isStopping else {
                throw failure.error(.invalidState, "The capture was stopped while it waited for the first picture.")
            }
            do throws(ConnectionLoss) {
                try read(context)
                guard backlog.isEmpty else { break }
                let left = limit - timeoutClock.now
                if left <= .zero { throw .failed(noPicture) }
                try wait(context, atMost: left)
            } catch {
                throw error.error ?? noPicture
            }
        }
    }

    /// Records the first image of a connection, which is the next to deliver.
    func didConnect() {
        if let picture = backlog.first, let header = try? JPEGHeader(picture.block.bytes) { adoptSize(header) }
        status.count { $0.connections += 1 }
        status.reportFinish()
        status.report(.connected(width: pictureSize.width, height: pictureSize.height, isPolled: isPolled))
    }

    var failure: TransferFailure {
        // Only used while there is an address.
        TransferFailure(address: address!)
    }

    private var noPicture: CaptureError {
        failure.error(
            .formatUnsupported, "The address sends no complete JPEG picture; give that of the camera's MJPEG stream."
        )
    }

    /// The first image that can be decoded determines the format.
    func settleFormat(_ context: FrameContext) throws(CaptureError) {
        var unsupported = 0
        for _ in 0..<MJPEGSource.maximumDamagedAtFirst {
            if backlog.isEmpty { try awaitFirstPicture(context) }
            guard let picture = backlog.next(now: context.now, pool: pool) else { break }
            do throws(CodecError) {
                _ = try decode(picture)
                backlog.putBack(picture)
                return adoptFormat()
            } catch {
                // A camera whose images are all of another kind is not waited for; a single one may be a greeting.
                if error.code == .formatUnsupported { unsupported += 1 }
                let mayGoOn = error.code == .corruptData || error.code == .formatUnsupported
                guard mayGoOn, unsupported < MJPEGSource.maximumUnsupportedAtFirst else {
                    throw failure.error(
                        error.code == .outOfMemory ? .outOfMemory : .formatUnsupported,
                        "The pictures cannot be decoded. \(error.message)")
                }
                recordDamaged(picture)
            }
        }
        throw failure.error(
            .corruptData, "All pictures that come are damaged; check the network, or restart the camera.")
    }

    /// The number of consecutive damaged images at the start after which the stream is given up.
    private static let maximumDamagedAtFirst = 20
    /// The same of images of a kind that is not decoded.
    private static let maximumUnsupportedAtFirst = 3
}

/// One connection, or a series of polling requests, from its beginning to its loss. Confined to the capture thread; not
/// checked for overlapping accesses, as in ``MJPEGSource``.
final class StreamConnection {
    enum Phase: Hashable {
        /// No byte of a body has arrived yet.
        case waiting
        /// Parts, or consecutive images.
        case stream
        /// One image; the next must be requested.
        case picture
    }

    @exclusivity(unchecked) var phase = Phase.waiting
    @exclusivity(unchecked) var parser: MultipartParser?
    /// By the machine's clock: the times of the request, of the last bytes, and of the last image.
    let began: MediaTime
    @exclusivity(unchecked) var lastByte: MediaTime
    @exclusivity(unchecked) var lastPicture: MediaTime
    /// Since when all images have been damaged; nil when the last one was not.
    @exclusivity(unchecked) var damagedSince: MediaTime?
    /// The number of images received.
    @exclusivity(unchecked) var pictureCount = 0
    /// Why the response is not a stream.
    @exclusivity(unchecked) var refusal: CaptureError?
    /// Whether the response has ended, and is counted.
    @exclusivity(unchecked) var isConcluded = false
    /// By the capture's clock: the time of the last request.
    @exclusivity(unchecked) var requested: MediaTime

    init(began: MediaTime, requested: MediaTime) {
        self.began = began
        self.requested = requested
        lastByte = began
        lastPicture = began
    }
}
