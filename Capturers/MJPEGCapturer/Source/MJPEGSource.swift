import FrameProcessing
import HTTPTransport
import VideoCapturing

/// A network camera as a frame source: connects, reads, and connects again.
///
/// Confined to the capture thread; the parts are in extensions: connecting, reading, making frames, recovery. Properties
/// that each frame needs are not checked for overlapping accesses, which happened 17 times per frame.
final class MJPEGSource: FrameSource {
    var settings: CaptureSettings
    var pacing: FramePacing { .device }
    var contentHint: VideoContentHint { .motion }

    let url: String
    let configuration: MJPEGCapturer.Configuration
    let status: MJPEGStatus
    /// How long bytes may arrive without an image.
    let longestWithoutPicture: Duration
    /// The machine's clock, for the timeout with servers; the capture's may be a test's.
    let timeoutClock = MonotonicClock()

    // From open to close.
    var address: HTTPAddress?
    @exclusivity(unchecked) var transfer: HTTPTransfer?
    /// The credential that the server has accepted, or that is tried first.
    var credential: MJPEGCapturer.Credential?
    /// How the heads of this server are parsed.
    var leniency = HTTPRequest.Leniency.none
    let pool = JPEGBlockPool()
    let processor = FrameProcessor()
    var decoder: JPEGReader?
    @exclusivity(unchecked) var wants = CaptureWants()
    /// The size of the last image before scaling.
    @exclusivity(unchecked) var pictureSize = PixelSize(width: 0, height: 0)

    // While connected or connecting.
    @exclusivity(unchecked) var connection: StreamConnection?
    /// Whether the address is a single image, known from the last response.
    var isPolled = false
    /// The number of responses in a row that were called a stream, and ended after one image.
    var singlePictures = 0
    @exclusivity(unchecked) var backlog: ReceiveQueue
    var recovery = ConnectionRecovery()
    @exclusivity(unchecked) var limiter = FrameRateLimiter()
    /// What the capture has not counted yet.
    @exclusivity(unchecked) var losses = StreamLosses()
    /// Images received, whether delivered or not; for the limiter.
    @exclusivity(unchecked) var taken: UInt64 = 0
    /// The time of the last read, by the capture's clock.
    @exclusivity(unchecked) var lastRead = MediaTime.zero
    /// Whether the last read took everything that had arrived.
    @exclusivity(unchecked) var isDrained = false
    /// Whether the next read follows a wait, so that its bytes have just arrived.
    @exclusivity(unchecked) var hasWaited = false

    init(url: String, configuration: MJPEGCapturer.Configuration, status: MJPEGStatus) {
        self.url = url
        self.configuration = configuration
        self.status = status
        longestWithoutPicture = configuration.connectTimeout + configuration.stallTimeout * 4
        backlog = ReceiveQueue(maximumBytes: configuration.maximumFrameBytes)
        // Unknown until the first image.
        let name = try? HTTPAddress(url).displayName
        settings = CaptureSettings(
            format: VideoFormat(configuration.pixelFormat, width: 0, height: 0), sourceName: name)
    }

    func open(_ context: FrameContext) throws {
        try configuration.validate()
        let address = try HTTPAddress(url)
        self.address = address
        status.contents.withLock { $0.statistics = MJPEGCapturer.Statistics() }
        losses = StreamLosses()
        isPolled = false
        singlePictures = 0
        leniency = .none
        pictureSize = PixelSize(width: 0, height: 0)
        credential = configuration.credential ?? address.credential
        decoder = JPEGReader(pixelFormat: configuration.pixelFormat)
        do {
            transfer = try HTTPTransfer()
            try connect(context)
            try settleFormat(context)
        } catch {
            close()
            throw error
        }
    }

    func start(_ context: FrameContext) throws {
        recovery.end()
        limiter = FrameRateLimiter()
        // A connection that was opened a while ago has old images in all buffers.
        let isAlive = connection != nil && (transfer?.result == nil || !backlog.isEmpty)
        if !isAlive || context.now - lastRead > .seconds(2) {
            disconnect()
            backlog.clear()
            try connect(context)
        }
        backlog.sessionStart = context.now
    }

    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        defer { countLosses(context) }
        while !context.mustReturn {
            guard connection != nil else {
                guard try recover(context) else { return nil }
                continue
            }
            do throws(ConnectionLoss) {
                if let frame = try awaitFrame(context) { return frame }
            } catch {
                guard try lose(error, context) else { return nil }
            }
        }
        return nil
    }

    func adapt(to wants: CaptureWants) {
        self.wants = wants
        adoptFormat()
    }

    func stop() {
        disconnect()
        backlog.clear()
        recovery.end()
    }

    func close() {
        disconnect()
        backlog.clear()
        transfer = nil
        decoder = nil
    }

    /// Sets the format by the size of the images and the wants of consumers.
    func adoptFormat() {
        guard pictureSize.width > 0 else { return }
        if wants.acceptsCompressed {
            settings.format = VideoFormat(.mjpeg, width: pictureSize.width, height: pictureSize.height)
        } else {
            let size = wants.adaptedSize(width: pictureSize.width, height: pictureSize.height)
            settings.format = VideoFormat(configuration.pixelFormat, width: size.width, height: size.height)
        }
    }

    func disconnect() {
        transfer?.end()
        connection?.parser?.discard()
        connection = nil
    }
}
