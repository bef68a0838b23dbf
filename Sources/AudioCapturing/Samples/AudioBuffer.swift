import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The samples of one chunk, interleaved: immutable from the moment the buffer exists, freed or recycled when its last
/// reference is released.
///
/// ```
/// frame 0     frame 1     …
/// [L₀][R₀]    [L₁][R₁]    …      each sample a `SampleType`, in the byte order of the machine
/// ```
///
/// Make one with ``AudioBufferPool/makeBuffer(_:frameCapacity:fill:)``. May be read from any number of threads at once.
///
/// `@unchecked Sendable`: the memory is written only by a ``SampleWriter``, before the buffer has been handed out, and
/// again only when there is no other reference to it.
public final class AudioBuffer: @unchecked Sendable {
    /// What the samples are.
    public let format: AudioFormat
    /// The number of frames: samples per channel.
    public var frameCount: Int { storedFrameCount.load(ordering: .relaxed) }
    /// Atomic, because ``finishedReads`` orders only the reads inside of a call.
    private let storedFrameCount = Atomic(0)
    private let memory: UnsafeMutableRawPointer
    let frameCapacity: Int
    /// Orders the reads of one use before the writes of the next, as in `PixelBuffer`.
    private let finishedReads = Atomic<UInt>(0)

    /// Throws `invalidConfiguration` for a format out of range, and `outOfMemory`.
    init(_ format: AudioFormat, frameCapacity: Int) throws(CaptureError) {
        try format.validate()
        // An hour of one chunk is a mistake, and keeps the arithmetic in range.
        guard (0...format.sampleRate * 3600).contains(frameCapacity) else {
            throw CaptureError(
                .invalidConfiguration, operation: "allocate sound", subject: "\(format)",
                message: "A buffer cannot hold \(frameCapacity) frames; use a chunk of up to an hour.")
        }
        var memory: UnsafeMutableRawPointer?
        let byteCount = max(64, frameCapacity * format.bytesPerFrame)
        guard posix_memalign(&memory, 64, byteCount) == 0, let memory else {
            throw CaptureError(
                .outOfMemory, operation: "allocate sound", subject: "\(format)",
                message: "The machine has no \(byteCount) bytes left; use shorter queues.")
        }
        self.format = format
        self.frameCapacity = frameCapacity
        self.memory = memory
    }

    deinit {
        free(memory)
    }

    /// A separate buffer with a copy of samples; for a stream of them use an ``AudioBufferPool``.
    ///
    /// - Parameters:
    ///   - samples: interleaved; an incomplete frame at the end is left out.
    ///   - channels: the channels.
    ///   - sampleRate: frames per second.
    /// - Throws: `invalidConfiguration` for a format out of range, and `outOfMemory`.
    public convenience init<Sample: AudioSample>(
        copying samples: [Sample], channels: ChannelLayout, sampleRate: Int
    ) throws(CaptureError) {
        let format = AudioFormat(Sample.sampleType, channels, sampleRate: sampleRate)
        try format.validate()
        let frames = samples.count / channels.count
        try self.init(format, frameCapacity: frames)
        samples.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            memory.copyMemory(from: base, byteCount: frames * format.bytesPerFrame)
        }
        storedFrameCount.store(frames, ordering: .relaxed)
    }

    /// The number of bytes of all samples.
    public var byteCount: Int { frameCount * format.bytesPerFrame }

    /// How long the samples take.
    public var duration: Duration { format.duration(ofFrames: Int64(frameCount)) }

    // MARK: Reading

    /// Runs `body` with the bytes of all samples.
    public func withSamples<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { endRead() }
        return try body(UnsafeRawBufferPointer(start: memory, count: byteCount).bytes)
    }

    /// Runs `body` with all samples, interleaved, ``frameCount`` × channels.
    ///
    /// - Parameters:
    ///   - type: `Int16` or `Float`; must be that of ``format``, another is a programming error.
    ///   - body: reads them.
    public func withSamples<Sample: AudioSample, Result, Failure: Error>(
        as type: Sample.Type, _ body: (Span<Sample>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(
            type.sampleType == format.sampleType, "the samples are \(format.sampleType), not \(type.sampleType)")
        defer { endRead() }
        let count = frameCount * format.channels.count
        return try body(UnsafeBufferPointer(start: memory.assumingMemoryBound(to: Sample.self), count: count).span)
    }

    /// Runs `body` with the bytes of all samples, for C libraries; the pointer is valid during the call only.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { endRead() }
        return try body(UnsafeRawBufferPointer(start: memory, count: byteCount))
    }

    private func endRead() { finishedReads.wrappingAdd(1, ordering: .releasing) }

    // MARK: For pools

    /// Whether the memory may be written again, since there is no reference but the caller's.
    static func isReusable(_ buffer: inout AudioBuffer) -> Bool {
        guard isKnownUniquelyReferenced(&buffer) else { return false }
        _ = buffer.finishedReads.load(ordering: .acquiring)
        return true
    }

    /// Writes the samples. Only while there is no other reference to the buffer than a pool's.
    ///
    /// - Parameter limit: the maximum number of frames, up to ``frameCapacity``.
    func fill<Failure: Error>(
        upTo limit: Int, _ body: (borrowing SampleWriter) throws(Failure) -> Int
    ) throws(Failure) {
        let frames = try body(SampleWriter(format: format, frameCapacity: limit, memory: memory))
        precondition((0...limit).contains(frames), "\(frames) frames in a buffer for \(limit)")
        storedFrameCount.store(frames, ordering: .relaxed)
    }
}

/// The samples of a buffer while they are made: lent for the length of a call, never copied or kept.
///
/// The memory is not cleared: it may hold earlier samples.
public struct SampleWriter: ~Copyable {
    /// The format of the samples.
    public let format: AudioFormat
    /// The number of frames that there is room for.
    public let frameCapacity: Int
    private let memory: UnsafeMutableRawPointer

    init(format: AudioFormat, frameCapacity: Int, memory: UnsafeMutableRawPointer) {
        self.format = format
        self.frameCapacity = frameCapacity
        self.memory = memory
    }

    /// Runs `body` with the room for all samples, in bytes.
    public borrowing func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: memory, count: frameCapacity * format.bytesPerFrame))
    }

    /// Runs `body` with the room for all samples, interleaved, ``frameCapacity`` × channels.
    ///
    /// - Parameters:
    ///   - type: `Int16` or `Float`; must be that of ``format``, another is a programming error.
    ///   - body: writes them.
    public borrowing func withSamples<Sample: AudioSample, Result, Failure: Error>(
        as type: Sample.Type, _ body: (UnsafeMutableBufferPointer<Sample>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(
            type.sampleType == format.sampleType, "the samples are \(format.sampleType), not \(type.sampleType)")
        let count = frameCapacity * format.channels.count
        return try body(UnsafeMutableBufferPointer(start: memory.assumingMemoryBound(to: Sample.self), count: count))
    }

    /// Makes all samples silence.
    public borrowing func fillWithSilence() {
        withUnsafeBytes { bytes in _ = bytes.initializeMemory(as: UInt8.self, repeating: 0) }
    }
}
