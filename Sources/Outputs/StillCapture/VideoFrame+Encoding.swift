public import VideoCapturing

extension VideoFrame {
    /// The frame as the bytes of a JPEG or PNG file, or as packed samples, in one call on the calling thread.
    ///
    /// ```swift
    /// let jpeg = try frame.encoded()
    /// let png = try frame.encoded(.init(format: .png, orientation: .applied))
    /// ```
    /// Each call makes a new encoder: for occasional photographs. For many in a row, each at its moment and on other
    /// threads, use a ``StillCapture``. Size, timeout and wants of the settings are of no effect.
    ///
    /// - Parameter settings: format, quality, orientation and metadata.
    /// - Throws: `invalidConfiguration` for a quality out of range, and what encoding throws.
    public func encoded(_ settings: Still.Settings = Still.Settings()) throws(StillCaptureError) -> PacketBuffer {
        try still(settings).data
    }

    /// Writes the frame to a JPEG (`.jpg`, `.jpeg`) or PNG file (`.png`).
    ///
    /// - Parameters:
    ///   - path: the file; its extension says the format.
    ///   - overwrites: whether an existing file is replaced.
    ///   - settings: quality, orientation and metadata.
    /// - Throws: `invalidConfiguration` for another extension, and what encoding and writing throws.
    public func write(
        to path: String, overwrites: Bool = false, _ settings: Still.Settings = Still.Settings()
    ) throws(StillCaptureError) {
        var settings = settings
        let ending = path.lastIndex(of: ".").map { path[$0...].lowercased() }
        switch ending {
        case ".jpg", ".jpeg": settings.format = .jpeg
        case ".png": settings.format = .png
        default:
            throw StillCaptureError(
                .invalidConfiguration, operation: "write a frame", subject: path,
                message: "The name says no format; let it end in .jpg or .png.")
        }
        let file = try StillFile(path, overwrites: overwrites)
        _ = try file.write(try still(settings))
    }

    private func still(_ settings: Still.Settings) throws(StillCaptureError) -> Still {
        try settings.validate()
        let clock = MonotonicClock()
        let request = StillRequest(
            id: 0, owner: .single, moment: timestamp, settings: settings, awaitsWants: false)
        let encoder = StillEncoder(StillCapture.Configuration(), clock: clock)
        return try encoder.encode(StillJob(request: request, frame: self), backlog: 0, cameraModel: nil)
    }
}
