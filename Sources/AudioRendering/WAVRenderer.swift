import AudioCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Plays into a WAV file in real time: it records the sound that other renderers play, without the pauses.
///
/// The sizes in the file's head are brought up to date each second, so that the file of a program that was killed can be
/// played too. Beyond 4 GB (six hours of stereo at 48 kHz and 16 bits) the head is that of RF64 (EBU Tech 3306).
///
/// Safe to use from any thread.
public final class WAVRenderer: AudioRenderer {
    private struct State {
        var queue: PacedQueue
        var file: Int32 = -1
        var format: AudioFormat?
        var dataBytes: UInt64 = 0
        /// The size that the head says.
        var statedBytes: UInt64 = 0
    }

    private let path: String
    private let state: Locked<State>

    public var name: String { path }

    /// Creates a renderer without touching the file.
    ///
    /// - Parameters:
    ///   - path: the file, which ``open(_:)`` creates, or empties.
    ///   - clock: the clock by which the sound is played.
    public init(path: String, clock: any CaptureClock = MonotonicClock()) {
        self.path = path
        state = Locked(State(queue: PacedQueue(clock: clock, capacity: .milliseconds(400))))
    }

    deinit { close() }

    public func open(_ wanted: AudioFormat) throws(AudioRendererError) -> AudioFormat {
        guard (1...768_000).contains(wanted.sampleRate), (1...64).contains(wanted.channels.count) else {
            throw AudioRendererError(
                .formatUnsupported, operation: "write a WAV file", subject: path,
                message: "\(wanted) cannot be written; use 1 to 64 channels and rates up to 768000.")
        }
        // 16 bits are what every program reads.
        let format = AudioFormat(.int16, wanted.channels, sampleRate: wanted.sampleRate)
        try state.withLock { state throws(AudioRendererError) in
            guard state.file < 0 else {
                throw AudioRendererError(
                    .invalidState, operation: "open a WAV file", subject: path,
                    message: "It is open already; close it first.")
            }
            let file = createFile(path)
            guard file >= 0 else { throw failure("open a WAV file") }
            state.file = file
            state.format = format
            state.dataBytes = 0
            state.statedBytes = 0
            state.queue.open(format)
            guard writeAll(file, Self.head(format, 0)) else {
                let error = failure("write a WAV file")
                Self.end(&state)
                throw error
            }
        }
        return format
    }

    public var bufferFrames: Int { state.withLock { $0.queue.capacityFrames } }

    public func write(_ samples: UnsafeRawBufferPointer) throws(AudioRendererError) -> Int {
        try state.withLock { state throws(AudioRendererError) in
            guard let format = state.format else {
                throw AudioRendererError(
                    .invalidState, operation: "write a WAV file", subject: path,
                    message: "It is not open; open it first.")
            }
            let frames = state.queue.take(samples)
            let bytes = frames * format.bytesPerFrame
            guard writeAll(state.file, UnsafeRawBufferPointer(rebasing: samples[..<bytes])) else {
                throw failure("write a WAV file")
            }
            state.dataBytes += UInt64(bytes)
            if state.dataBytes - state.statedBytes >= UInt64(format.sampleRate * format.bytesPerFrame) {
                Self.stateSize(&state)
            }
            return frames
        }
    }

    public func queuedFrames() throws(AudioRendererError) -> Int { state.withLock { $0.queue.queued() } }

    public func pause() throws(AudioRendererError) { state.withLock { $0.queue.pause() } }

    public func resume() throws(AudioRendererError) { state.withLock { $0.queue.resume() } }

    public func flush() throws(AudioRendererError) { state.withLock { $0.queue.flush() } }

    public func close() { state.withLock { Self.end(&$0) } }

    private static func end(_ state: inout State) {
        guard state.file >= 0 else { return }
        stateSize(&state)
        closeFile(state.file)
        state.file = -1
        state.format = nil
        state.queue.close()
    }

    /// A failure is no loss: readers take a wrong size for the rest of the file.
    private static func stateSize(_ state: inout State) {
        guard let format = state.format else { return }
        let head = head(format, state.dataBytes)
        _ = head.withUnsafeBytes { pwrite(state.file, $0.baseAddress, $0.count, 0) }
        state.statedBytes = state.dataBytes
    }

    /// RIFF, the place of `ds64`, `fmt ` and the head of `data`: 80 bytes, little-endian.
    static func head(_ format: AudioFormat, _ dataBytes: UInt64) -> [UInt8] {
        var head: [UInt8] = []
        func add(_ text: StaticString) { text.withUTF8Buffer { head += $0 } }
        func add<Value: FixedWidthInteger>(_ value: Value) {
            withUnsafeBytes(of: value.littleEndian) { head += $0 }
        }
        let riffBytes = dataBytes + 72
        let isLarge = riffBytes > UInt64(UInt32.max)
        add(isLarge ? "RF64" : "RIFF")
        add(isLarge ? UInt32.max : UInt32(riffBytes))
        add("WAVE")
        add(isLarge ? "ds64" : "JUNK")
        add(UInt32(28))
        add(isLarge ? riffBytes : 0)
        add(isLarge ? dataBytes : 0)
        add(isLarge ? dataBytes / UInt64(format.bytesPerFrame) : 0)
        add(UInt32(0))
        add("fmt ")
        add(UInt32(16))
        add(UInt16(format.sampleType == .int16 ? 1 : 3))
        add(UInt16(format.channels.count))
        add(UInt32(format.sampleRate))
        add(UInt32(format.sampleRate * format.bytesPerFrame))
        add(UInt16(format.bytesPerFrame))
        add(UInt16(format.sampleType.byteCount * 8))
        add("data")
        add(isLarge ? UInt32.max : UInt32(dataBytes))
        return head
    }

    private func failure(_ operation: String) -> AudioRendererError {
        let number = errno
        let (code, message): (AudioRendererErrorCode, String) =
            switch number {
            case ENOENT, ENOTDIR: (.deviceNotFound, "The folder is not there; create it, or choose another one.")
            case EACCES, EPERM, EROFS: (.permissionDenied, "The file must not be written; choose another folder.")
            case ENOSPC, EDQUOT, EFBIG: (.noSpace, "The disk is full; make room, or choose another folder.")
            default: (.system, "The file cannot be written; choose another folder.")
            }
        return AudioRendererError(code, operation: operation, subject: path, errno: number, message: message)
    }
}

// Outside of the class, whose methods have the names of these functions of the system.

private func createFile(_ path: String) -> Int32 { open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666) }

private func closeFile(_ file: Int32) { close(file) }

private func writeAll(_ file: Int32, _ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { writeAll(file, $0) } }

private func writeAll(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Bool {
    var done = 0
    while done < bytes.count {
        let count = write(file, bytes.baseAddress! + done, bytes.count - done)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        done += count
    }
    return true
}
