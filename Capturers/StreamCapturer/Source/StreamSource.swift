import FrameProcessing
import StreamTransport
import VideoCapturing

/// A stream as a frame source: connects or listens, reads, decodes, and connects again. Confined to the capture thread.
final class StreamSource: FrameSource {
    var settings: CaptureSettings
    var pacing: FramePacing { .device }
    var contentHint: VideoContentHint { .motion }

    let url: String
    let decoders: [VideoDecoderFactory]
    let demuxer: StreamDemuxerFactory?
    let configuration: StreamCapturer.Configuration
    let status: StreamStatus
    /// The machine's clock, for the timeout with senders; the capture's may be a test's.
    let timeoutClock = MonotonicClock()
    let processor = FrameProcessor()

    // From open to close.
    /// Nil for an address that the demuxer opens.
    var address: StreamAddress?
    var listener: StreamSocket?
    /// The format that was asked for.
    var format: StreamCapturer.Format?
    var wants = CaptureWants()
    var pictureSize = PixelSize(width: 0, height: 0)
    var pixelAspect = PixelAspect.square
    /// Whether it was reported that frames have two fields.
    var hasReportedFields = false

    // While connected or connecting.
    var connection: StreamConnection?
    var recovery = ConnectionRecovery()
    /// What was lost, and the capture has not counted yet.
    var losses = StreamLosses()

    init(
        url: String, decoders: [VideoDecoderFactory], demuxer: StreamDemuxerFactory?,
        configuration: StreamCapturer.Configuration, status: StreamStatus
    ) {
        self.url = url
        self.decoders = decoders
        self.demuxer = demuxer
        self.configuration = configuration
        self.status = status
        // Unknown until the first frame.
        settings = CaptureSettings(
            format: VideoFormat(.i420, width: 0, height: 0), sourceName: StreamSource.shown(url))
    }

    func open(_ context: FrameContext) throws {
        try configuration.validate()
        address = try parseAddress()
        format = try chooseFormat()
        status.contents.withLock { $0.statistics = StreamCapturer.Statistics() }
        losses = StreamLosses()
        pictureSize = PixelSize(width: 0, height: 0)
        do {
            if let address, address.isListening {
                let socket = try StreamSocket.listen(at: address)
                listener = socket
                status.contents.withLock { $0.port = socket.localPort }
                status.report(.listening(port: socket.localPort))
            }
            try connect(context)
        } catch {
            close()
            throw error
        }
    }

    func start(_ context: FrameContext) throws {
        recovery.end()
        guard connection == nil else { return }
        // A sender that connects comes when it likes.
        if listener == nil { try connect(context) }
    }

    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        defer { countLosses(context) }
        while !context.isStopping {
            guard connection != nil else {
                guard try recover(context) else { return nil }
                continue
            }
            do throws(ConnectionLoss) {
                // Nil makes way for new wants.
                guard let frame = try awaitFrame(context) else { return nil }
                return frame
            } catch {
                guard try lose(error, context) else { return nil }
            }
        }
        return nil
    }

    func adapt(to wants: CaptureWants) {
        self.wants = wants
        adoptFormat(settings.format.pixelFormat)
    }

    func stop() {
        connection = nil
        recovery.end()
    }

    func close() {
        connection = nil
        listener = nil
        status.contents.withLock { $0.port = nil }
    }

    // MARK: Format

    private func parseAddress() throws(CaptureError) -> StreamAddress? {
        if url.lowercased().hasPrefix("tcp:") { return try StreamAddress(url, operation: "open the stream") }
        guard demuxer != nil else {
            throw error(
                .invalidConfiguration,
                "This is not the address of a TCP stream, and the program links nothing that reads others; write it as in "
                    + "tcp://192.168.1.5:9000, or tcp://0.0.0.0:9000?listen.")
        }
        return nil
    }

    private func chooseFormat() throws(CaptureError) -> StreamCapturer.Format? {
        if let format = configuration.format { return format }
        guard let name = address?.format else { return nil }
        if let format = StreamCapturer.Format(name: name) { return format }
        let known = StreamCapturer.Format.allCases.map(\.rawValue)
        let guess = nearestName(to: name, in: known).map { " Did you mean \($0)?" } ?? ""
        throw error(
            .invalidConfiguration,
            "There is no format \(name) to receive.\(guess) There are \(known.joined(separator: ", ")).")
    }

    /// Sets the format by the size of the pictures and the wants of consumers.
    func adoptFormat(_ pixelFormat: PixelFormat) {
        guard pictureSize.width > 0 else { return }
        let size = wants.adaptedSize(width: pictureSize.width, height: pictureSize.height)
        settings.format = VideoFormat(pixelFormat, width: size.width, height: size.height, pixelAspect: pixelAspect)
    }

    /// The address for people: of `tcp` all, and of others what is no secret, such as a stream key or a passphrase.
    private static func shown(_ url: String) -> String {
        url.lowercased().hasPrefix("tcp:") ? maskingUserInfo(in: url) : maskingSecrets(inURL: url)
    }

    func error(_ code: CaptureError.Code, _ message: String) -> CaptureError {
        CaptureError(
            code, operation: "receive the stream", subject: address?.displayName ?? StreamSource.shown(url),
            message: message)
    }
}

/// Frames that were not delivered.
struct StreamLosses: Equatable {
    var lost: UInt64 = 0
    var damaged: UInt64 = 0
}
