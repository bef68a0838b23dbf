/// The least that a custom source of packets has to do: describe its tracks, and give the next packet.
///
/// A ``PacketSourceCapturer`` drives it and adds thread, pacing, time, numbers, losses, states, errors, restart and
/// statistics. All functions are called on one thread, the capturer's own, one at a time, in the order
/// open → (start → nextPacket* → stop)* → close; so a source needs no lock. Only ``nextPacket(_:)`` and the settings must be
/// written.
public protocol PacketSource {
    /// What the source delivers; complete after ``open(_:)``.
    var settings: PacketSettings { get }

    /// When packets are due. The default is ``PacketPacing/live``.
    var pacing: PacketPacing { get }

    /// Whether ``requestKeyFrame()`` has an effect; known after ``open(_:)``. The default is false.
    var makesKeyFrames: Bool { get }

    /// Acquires the device, stream or file. A release meanwhile makes ``PacketContext/isStopping`` true; a source that
    /// waits then throws.
    ///
    /// - Parameter context: ends waits.
    /// - Throws: any error, which `initCapture` throws; ``close()`` is not called then.
    mutating func open(_ context: PacketContext) throws

    /// Makes the device stream.
    ///
    /// - Parameter context: makes buffers, has the time, and ends waits.
    /// - Throws: any error, which `startCapture` throws.
    mutating func start(_ context: PacketContext) throws

    /// The next packet: its data, track, times, duration and whether it is a key frame. The capturer numbers it.
    ///
    /// May block indefinitely, if it ends its wait when ``PacketContext/isStopping`` becomes true: wait for a device, a
    /// socket or a pipe with ``PacketContext/waitForInput(_:atMost:)``, or poll ``PacketContext/stopDescriptor`` in
    /// addition to several of them.
    ///
    /// - Parameter context: makes buffers, has the time, and ends waits.
    /// - Returns: the packet; nil when there are no more.
    /// - Throws: any error, which stops the capture and is its reason.
    mutating func nextPacket(_ context: PacketContext) throws -> MediaPacket?

    /// Asks the device or the remote encoder for a key frame. Called between two packets.
    mutating func requestKeyFrame()

    /// Stops the device's streaming. Also called after a failure.
    mutating func stop()

    /// Returns the device or file.
    mutating func close()
}

extension PacketSource {
    public var pacing: PacketPacing { .live }
    public var makesKeyFrames: Bool { false }
    public mutating func open(_ context: PacketContext) {}
    public mutating func start(_ context: PacketContext) {}
    public mutating func requestKeyFrame() {}
    public mutating func stop() {}
    public mutating func close() {}
}

/// When the packets of a source are due, and what their times mean.
public enum PacketPacing: String, Sendable, Hashable, CaseIterable {
    /// They come when they come, with times of the monotonic clock: devices and networks.
    case live
    /// The source has a separate time scale, and each packet is delivered when its decode time has come: a recording that
    /// is played.
    case clock
    /// The source has a separate time scale, and packets are delivered as fast as the consumer takes them: a recording
    /// that is copied. Timestamps run ahead of the clock.
    case unpaced
}
