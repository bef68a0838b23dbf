import AudioCapturing

/// Plays sound: a loudspeaker, a file, or nothing at all.
///
/// The caller pushes. No call waits for sound to be heard: ``write(_:)`` takes as many frames as there is room for. The
/// caller regulates the level (``queuedFrames()``). The level also gives the position of the sound that is heard now: the
/// frames written minus those queued.
///
/// The order is ``open(_:)``, then ``write(_:)``, ``pause()``, ``resume()`` and ``flush()`` in any order, then ``close()``;
/// then it can be opened again. A renderer is used by one thread at a time, not always the same.
public protocol AudioRenderer: AnyObject, Sendable {
    /// The name of the device or file, for people.
    var name: String { get }

    /// Acquires the device or file, and begins to play as soon as there is something.
    ///
    /// - Parameter wanted: the format of the caller's sound.
    /// - Returns: the format in which it takes sound: the wanted one, or the nearest that it can play. The caller
    ///   converts.
    /// - Throws: why it cannot be opened.
    func open(_ wanted: AudioFormat) throws(AudioRendererError) -> AudioFormat

    /// The frames of its buffer: the largest level that it can hold. Valid while open.
    var bufferFrames: Int { get }

    /// Takes sound without waiting.
    ///
    /// - Parameter samples: whole frames of the format that ``open(_:)`` returned, interleaved.
    /// - Returns: the number of frames taken; fewer than given when the buffer is full, 0 while it has no room.
    /// - Throws: `deviceLost` and other failures, after which only ``close()`` is left.
    func write(_ samples: UnsafeRawBufferPointer) throws(AudioRendererError) -> Int

    /// The frames that were written and are not heard yet: 0 after an underrun, whatever the device says of its state.
    ///
    /// - Throws: as ``write(_:)``.
    func queuedFrames() throws(AudioRendererError) -> Int

    /// Pauses the sound; queued sound stays.
    ///
    /// - Throws: as ``write(_:)``.
    func pause() throws(AudioRendererError)

    /// Goes on after ``pause()``.
    ///
    /// - Throws: as ``write(_:)``.
    func resume() throws(AudioRendererError)

    /// Drops the queued sound.
    ///
    /// - Throws: as ``write(_:)``.
    func flush() throws(AudioRendererError)

    /// Releases the device or completes the file; queued sound is dropped. Does nothing when it is not open.
    func close()
}

/// An error of a renderer.
public typealias AudioRendererError = MediaError<AudioRendererErrorCode>

/// What can fail while sound is played.
public enum AudioRendererErrorCode: String, MediaErrorCode {
    /// Calls came out of order.
    case invalidState
    /// There is no such device, or no such folder for a file.
    case deviceNotFound
    /// Another program has the device.
    case deviceBusy
    /// The user may not use the device, or write the file.
    case permissionDenied
    /// The device cannot play such sound.
    case formatUnsupported
    /// The device has gone.
    case deviceLost
    /// The disk is full, or the file as large as its kind can be.
    case noSpace
    /// A library that is needed is not there, or the machine has no memory left.
    case unavailable
    /// The operating system or the sound system refused.
    case system

    public var category: ErrorCategory {
        switch self {
        case .invalidState: .internal
        case .deviceNotFound: .notFound
        case .deviceBusy: .busy
        case .permissionDenied: .noPermission
        case .formatUnsupported: .unsupported
        case .deviceLost: .disconnected
        case .noSpace: .noSpace
        case .unavailable: .unavailable
        case .system: .system
        }
    }
}
