import AudioCapturing

/// An open device that records. Used by one thread at a time.
///
/// Opening, ``start()``, ``stop()`` and ``close()`` wait for a sound server, however long that hangs. They may be called from
/// other threads while such a call lasts, and wait for its end.
protocol RecordingDevice: AnyObject, Sendable {
    /// The name that it was opened by.
    var name: String { get }
    /// What it delivers.
    var format: AudioFormat { get }
    /// The frames of one of its interrupts.
    var framesPerPeriod: Int { get }
    /// How much it holds before sound is lost.
    var bufferDuration: Duration { get }
    /// The number of the card, at present, and that of the device on it; nil where no card is behind it.
    var place: (card: Int, device: Int)? { get }

    /// Begins to record, also after a loss.
    func start() throws(CaptureError)

    func stop()

    /// Closes the device, which its last reference does otherwise.
    func close()

    /// Sleeps until there may be something to read, or a stop, or the time is over.
    ///
    /// - Returns: false when the time was over.
    func wait(stop: Int32, until deadline: MediaTime) -> Bool

    /// Reads what there is.
    ///
    /// - Throws: `deviceLost` for a device that is gone or hangs.
    func read(into samples: UnsafeMutableRawBufferPointer) throws(CaptureError) -> DeviceReading
}

/// What comes of a read.
enum DeviceReading {
    /// Frames, and when the first one was at the microphone; nil where the device does not tell.
    case frames(Int, timestamp: MediaTime?)
    /// Nothing yet.
    case none
    /// Sound was lost, since the last read was longer ago than the buffer holds; start the device again.
    case overrun
}

/// Where devices are opened, and cards are looked for.
struct SoundSystem: Sendable {
    /// Opens a device by a name of ALSA, for a format and the duration of a period.
    var open: @Sendable (String, AudioFormat, Duration) throws(CaptureError) -> any RecordingDevice
    /// The card with a number.
    var card: @Sendable (Int) -> SoundCard?
    /// Whether a card is there, with any number.
    var isPresent: @Sendable (SoundCard) -> Bool

    /// The machine's own.
    static let alsa = SoundSystem(
        open: { (name, format, period) throws(CaptureError) in
            try PCMDevice.open(name, wanted: format, period: period)
        },
        card: { SoundCards().card($0) }, isPresent: { SoundCards().isPresent($0) })
}
