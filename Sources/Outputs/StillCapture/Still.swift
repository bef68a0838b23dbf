public import VideoCapturing

/// One photograph: the encoded picture, and all that is known of it.
public struct Still: Sendable {
    /// Identifies a still of one ``StillCapture``: no two requests have the same.
    public var id: UInt64
    /// Counts the stills of a burst from 1, in the order in which their frames were taken; 1 for a single one.
    public var number: Int
    /// The encoded picture: a JPEG or PNG file, or the samples of NV12, plane after plane without padding.
    public var data: PacketBuffer
    /// How ``data`` is encoded.
    public var format: Still.Settings.Format
    /// The size of the picture in ``data``, before ``orientation`` is applied.
    public var size: PixelSize
    /// The rotation that a viewer has to apply; `VideoOrientation.up` where it was applied already. JPEG and PNG files
    /// carry it themselves where they have EXIF.
    public var orientation: VideoOrientation
    /// The color matrix and range of the samples.
    public var color: ColorDescription
    /// When the frame was taken, on the monotonic clock.
    public var timestamp: MediaTime
    /// The same by the machine's date: the time since 1970, UTC.
    public var date: Duration
    /// How long after the requested moment the frame was taken; below zero for one that was taken before.
    ///
    /// A source that delivers changes only, such as a screen, shows the same picture until the next: then the moment of
    /// its last change.
    public var offset: Duration
    /// The frame's number, which is the same for all consumers of a publisher.
    public var sequenceNumber: UInt64
    /// The quality with which the picture was encoded as JPEG; nil for other formats, and where the camera's own JPEG was
    /// passed on.
    public var quality: Int?
    /// Whether ``quality`` is below the one asked for, since other stills waited.
    public var isQualityReduced: Bool
    /// Whether the picture is the camera's own JPEG.
    public var isPassedThrough: Bool
    /// From the request to the encoded picture.
    public var latency: Duration
}

extension Still {
    /// How to take and encode one still, or each still of a burst.
    public struct Settings: Sendable, Hashable {
        /// How pictures are encoded.
        public enum Format: String, Sendable, Hashable, CaseIterable {
            case jpeg
            case png
            /// The samples themselves, in NV12.
            case nv12
        }

        /// How a picture that does not lie upright becomes so.
        public enum OrientationHandling: String, Sendable, Hashable, CaseIterable {
            /// The file states the rotation (in EXIF); the pixels stay unchanged.
            case written
            /// The pixels are turned.
            case applied
        }

        /// How the picture is encoded.
        public var format: Format
        /// The quality of a JPEG, 1 to 100 on libjpeg's scale.
        public var quality: Int
        /// The quality to which that of a JPEG may fall, step by step, while other stills wait; nil, the default, for never.
        public var minimumQuality: Int?
        /// How a picture that does not lie upright becomes so.
        public var orientation: OrientationHandling
        /// Whether JPEG and PNG files get EXIF: time, orientation, size, camera and software.
        public var writesEXIF: Bool
        /// Whether a camera's own JPEG is passed on, whatever its quality; only EXIF is inserted, where that is asked for.
        public var passesThrough: Bool
        /// Whether a frame from before the request may be taken, where it is the nearest to it. Without, it is the first
        /// after it.
        public var allowsEarlierFrames: Bool
        /// The number of frames after the request that are skipped, so that its settings (a flash, a control) take effect. If
        /// it is not 0, no frame from before the request is taken.
        public var skippedFrames: Int
        /// The size of a single still, independent of the stream's; nil, the default, for the stream's
        /// size. A capture that can (`VideoCapture.adjustable`) changes its mode for it, and back.
        ///
        /// That interrupts the capture for all its consumers, for half a second on common cameras.
        public var size: PixelSize?
        /// How long a single still may wait for its frame; nil for indefinitely. Stills of a burst wait indefinitely.
        public var timeout: Duration?
        /// The wants sent to the capture while a request is outstanding, such as `CaptureWants()` for its full size and rate.
        /// Then frames from before the request are not taken.
        ///
        /// Nil, the default, takes what the capture delivers for its other consumers.
        public var wants: CaptureWants?
        /// How long a nearer frame is waited for at least, of a source that was slowed down.
        package var shortestWait = Duration.zero

        /// Settings; see the properties.
        public init(
            format: Format = .jpeg, quality: Int = 90, minimumQuality: Int? = nil,
            orientation: OrientationHandling = .written, writesEXIF: Bool = true, passesThrough: Bool = true,
            allowsEarlierFrames: Bool = true, skippedFrames: Int = 0, size: PixelSize? = nil,
            timeout: Duration? = .seconds(10), wants: CaptureWants? = nil
        ) {
            self.format = format
            self.quality = quality
            self.minimumQuality = minimumQuality
            self.orientation = orientation
            self.writesEXIF = writesEXIF
            self.passesThrough = passesThrough
            self.allowsEarlierFrames = allowsEarlierFrames
            self.skippedFrames = skippedFrames
            self.size = size
            self.timeout = timeout
            self.wants = wants
        }

        /// - Throws: `invalidConfiguration`.
        func validate() throws(StillCaptureError) {
            func refuse(_ message: String) -> StillCaptureError {
                StillCaptureError(.invalidConfiguration, operation: "take a still", message: message)
            }
            guard (1...100).contains(quality) else { throw refuse("The quality is \(quality); choose 1 to 100.") }
            if let minimumQuality, !(1...quality).contains(minimumQuality) {
                throw refuse("The minimum quality is \(minimumQuality); choose 1 to \(quality), the quality itself.")
            }
            guard (0...1000).contains(skippedFrames) else {
                throw refuse("\(skippedFrames) frames would be skipped; choose 0 to 1000.")
            }
            if let size, !size.isValid { throw refuse("\(size) is not the size of an image; choose another.") }
            if let timeout, timeout <= .zero { throw refuse("The timeout is \(timeout); choose one above zero.") }
        }
    }
}
