import FrameProcessing
import VideoCapturing

extension MJPEGSource {
    /// More demands for a password than these are not answered.
    private static let mostAttempts = 10

    /// Connects and waits for the first picture, which is the first of the backlog then.
    ///
    /// Throws what a person can do something about; ``FrameContext/isStopping`` ends it with `invalidState`.
    func connect(_ context: FrameContext) throws(CaptureError) {
        guard let address, let transfer else { return }
        status.tellStart()
        var failures = 0
        while true {
            try begin(context)
            do throws(CaptureError) {
                try awaitFirstPicture(context)
                return noteConnected()
            } catch {
                disconnect()
                // Another host that was redirected to is given no name and password.
                let isDemand = transfer.head.status == 401 && !failure.isElsewhere(transfer) && !context.isStopping
                guard isDemand, error.code == .permissionDenied, let best = transfer.head.challenges.best else {
                    throw error
                }
                if credential != nil { failures += 1 }
                guard failures < MJPEGSource.mostAttempts,
                    let given = status.askFor(
                        MJPEGAuthenticationChallenge(
                            realm: best.realm, scheme: best.scheme, host: address.host, previousFailureCount: failures))
                else { throw error }
                credential = given
            }
        }
    }

    /// Makes the request; in polling the next one of the same connection.
    func begin(_ context: FrameContext) throws(CaptureError) {
        guard let address, let transfer else { return }
        let now = patienceClock.now
        connection = StreamConnection(began: now, requested: context.now)
        backlog.beginConnection()
        lastRead = context.now
        isDrained = false
        transfer.onBody = { [unowned self] bytes in takeBody(bytes, context) }
        try transfer.begin(
            HTTPRequest(
                address: address, credential: credential, configuration: configuration, isPicture: isPolled,
                leniency: leniency))
    }

    private func awaitFirstPicture(_ context: FrameContext) throws(CaptureError) {
        let limit = patienceClock.now.advanced(by: configuration.connectTimeout + configuration.stallTimeout * 2)
        while backlog.isEmpty {
            guard !context.isStopping else {
                throw failure.error(.invalidState, "The capture was stopped while it waited for the first picture.")
            }
            do throws(StreamLoss) {
                try read(context)
                guard backlog.isEmpty else { break }
                let left = limit - patienceClock.now
                if left <= .zero { throw .failed(noPicture) }
                try wait(context, atMost: left)
            } catch {
                throw error.error ?? noPicture
            }
        }
    }

    /// The first picture of a connection, which is the next to deliver.
    func noteConnected() {
        if let picture = backlog.first, let header = try? JPEGHeader(picture.block.bytes) { note(header) }
        status.count { $0.connections += 1 }
        status.tellFinish()
        status.tell(.connected(width: pictureSize.width, height: pictureSize.height, isPolled: isPolled))
    }

    var failure: TransferFailure {
        // Only used while there is an address.
        TransferFailure(address: address!)
    }

    private var noPicture: CaptureError {
        failure.error(
            .formatUnsupported, "No whole JPEG picture comes from there; give the address of the camera's MJPEG stream."
        )
    }

    /// The first whole picture settles the format, and must be one that can be decoded.
    func settleFormat(_ context: FrameContext) throws(CaptureError) {
        for _ in 0..<MJPEGSource.mostDamagedAtFirst {
            if backlog.isEmpty { try awaitFirstPicture(context) }
            guard let picture = backlog.next(now: context.now, pool: pool) else { break }
            do throws(CodecError) {
                _ = try decode(picture)
                backlog.putBack(picture)
                return adoptFormat()
            } catch {
                guard error.code == .corruptData else {
                    throw failure.error(
                        error.code == .outOfMemory ? .outOfMemory : .formatUnsupported,
                        "The pictures cannot be decoded. \(error.message)")
                }
                noteDamaged(picture)
            }
        }
        throw failure.error(
            .corruptData, "All pictures that come are damaged; check the network, or restart the camera.")
    }

    /// Damaged pictures in a row, after which a stream is given up before it has begun.
    private static let mostDamagedAtFirst = 20
}
