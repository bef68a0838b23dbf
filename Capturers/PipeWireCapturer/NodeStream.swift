import CPipeWire
import PipeWireSupport
import VideoCapturing

/// A stream from one node: its format, its buffers, and the newest frame. Confined to the capture thread, on which the
/// connection runs its events.
final class NodeStream {
    /// A frame that has arrived, in its buffer.
    struct Arrival {
        var buffer: StreamBuffer
        /// By the producer's header where that is plausible, else when it arrived.
        var timestamp: MediaTime
        /// The part of the buffer that is the picture; nil for all of it.
        var crop: PixelRect?
        /// The parts that differ from the last arrival that was taken; nil where they are unknown.
        var damage: [PixelRect]?
    }

    /// The agreed format; nil before.
    private(set) var format: PipeWireFormat?
    /// Whether the stream has agreed on a kind of video that is not read.
    private(set) var hasUnknownFormat = false
    /// Whether frames may come.
    private(set) var isStreaming = false
    /// Since when the stream is paused after it has streamed; nil while it is not.
    private(set) var pausedSince: MediaTime?
    /// Why the stream has ended, in the library's words.
    private(set) var failure: String?
    /// The newest frame that was not taken yet.
    private(set) var newest: Arrival?
    /// Frames that the producer has lost, and frames that came faster than they were taken.
    private(set) var lost: UInt64 = 0
    /// Frames that were damaged.
    private(set) var corrupt: UInt64 = 0
    /// Whether frames that are not taken are left out on purpose.
    var isRateLimited = false

    private let stream: PipeWireStream
    private var buffers: [UnsafeMutablePointer<pw_buffer>: StreamBuffer] = [:]
    private var lastSequence: UInt64 = 0
    /// Whether a frame was discarded whose damage no later one has.
    private var isDamageUnknown = false

    /// The buffers that always stay with the producer: below that, frames are copied.
    private static let minimumQueued = 2
    private static let maximumDamage = 64

    /// Asks for a node's frames.
    ///
    /// - Parameters:
    ///   - connection: kept for as long as the stream lives.
    ///   - node: nil for the only one of a portal's connection, of which `id` is the number.
    ///   - id: the number of the node.
    ///   - size: the preferred size.
    ///   - rate: the preferred rate.
    init(
        _ connection: PipeWireConnection, node: PipeWireNode?, id: UInt32, size: PixelSize, rate: FrameRate
    ) throws(CaptureError) {
        var properties = [
            (key: PW_KEY_MEDIA_TYPE, value: "Video"), (PW_KEY_MEDIA_CATEGORY, "Capture"), (PW_KEY_MEDIA_ROLE, "Camera"),
        ]
        if let serial = node?.serial { properties.append(("target.object", serial)) }
        stream = try PipeWireStream(connection, name: "capture", properties, for: "read a PipeWire node")
        listen()
        let formats = PipeWireFormat.readable
        try stream.check(
            cpw_connect_reader(
                stream.handle, node?.serial == nil ? id : cpw_id_any, formats, UInt32(formats.count),
                UInt32(size.width), UInt32(size.height), UInt32(rate.frames), UInt32(rate.seconds)))
    }

    /// Has the producer send frames.
    func activate() {
        pw_stream_set_active(stream.handle, true)
        pausedSince = nil
        // It was kept, since it still shows the screen.
        newest?.timestamp = MonotonicClock().now
    }

    /// Lets the producer rest.
    func rest(keepsNewest: Bool) {
        pw_stream_set_active(stream.handle, false)
        if !keepsNewest { drop() }
        pausedSince = nil
    }

    // MARK: Frames

    /// Takes the newest frame, with the losses before it. The caller requeues or lends its buffer.
    func take() -> (arrival: Arrival, lost: UInt64, corrupt: UInt64)? {
        guard let arrival = newest else { return nil }
        newest = nil
        defer { (lost, corrupt) = (0, 0) }
        return (arrival, lost, corrupt)
    }

    /// Discards the newest frame.
    private func drop() {
        guard let newest else { return }
        requeue(newest.buffer)
        self.newest = nil
        isDamageUnknown = true
    }

    /// Gives a buffer back to the producer.
    func requeue(_ buffer: StreamBuffer) {
        guard buffers[buffer.handle] === buffer else { return }
        buffer.isLent = false
        pw_stream_queue_buffer(stream.handle, buffer.handle)
    }

    /// Gives the buffers back whose frames were released.
    func reclaim() {
        for buffer in buffers.values where buffer.isLent && buffer.isReleased() { requeue(buffer) }
    }

    /// Whether the producer keeps enough buffers if a frame keeps one more.
    var canLend: Bool { buffers.count - buffers.values.count(where: \.isLent) - 1 >= NodeStream.minimumQueued }

    // MARK: Events

    private func listen() {
        stream.listen(self) { events in
            events.state_changed = { this, _, state, error in
                owner(this).stateChanged(state, error.map { String(cString: $0) })
            }
            events.param_changed = { this, id, pod in
                if id == SPA_PARAM_Format.rawValue, let pod { owner(this).formatChanged(pod) }
            }
            events.add_buffer = { this, buffer in
                if let buffer { owner(this).buffers[buffer] = StreamBuffer(buffer) }
            }
            events.remove_buffer = { this, buffer in
                if let buffer { owner(this).removed(buffer) }
            }
            events.process = { this in owner(this).process() }
        }
    }

    private func stateChanged(_ state: pw_stream_state, _ error: String?) {
        let wasStreaming = isStreaming
        isStreaming = state == PW_STREAM_STATE_STREAMING
        if isStreaming { pausedSince = nil }
        if wasStreaming, state == PW_STREAM_STATE_PAUSED { pausedSince = MonotonicClock().now }
        if state == PW_STREAM_STATE_ERROR || (wasStreaming && state == PW_STREAM_STATE_UNCONNECTED) {
            failure = error ?? "the stream was disconnected"
        }
    }

    private func formatChanged(_ pod: UnsafePointer<spa_pod>) {
        format = PipeWireFormat(pod)
        hasUnknownFormat = format == nil
        // The picture of another size is of no use any longer.
        drop()
        if format != nil { _ = cpw_accept_reader(stream.handle) }
    }

    private func removed(_ handle: UnsafeMutablePointer<pw_buffer>) {
        if newest?.buffer.handle == handle {
            newest = nil
            isDamageUnknown = true
        }
        buffers[handle] = nil
    }

    private func process() {
        while let handle = pw_stream_dequeue_buffer(stream.handle) {
            guard let buffer = buffers[handle] else { continue }
            guard format != nil, let content = handle.pointee.buffer else {
                requeue(buffer)
                continue
            }
            arrived(buffer, content)
        }
    }

    private func arrived(_ buffer: StreamBuffer, _ content: UnsafeMutablePointer<spa_buffer>) {
        let now = MonotonicClock().now
        let header = cpw_header(content)?.pointee
        let isCorrupt = header.map { $0.flags & UInt32(SPA_META_HEADER_FLAG_CORRUPTED) != 0 } ?? false
        let chunk = content.pointee.n_datas > 0 ? content.pointee.datas[0].chunk?.pointee : nil
        // Without pixels only the pointer has moved.
        guard let chunk, chunk.size > 0, !isCorrupt, chunk.flags & Int32(SPA_CHUNK_FLAG_CORRUPTED) == 0 else {
            if chunk.map({ $0.size > 0 }) ?? false {
                corrupt += 1
                isDamageUnknown = true
            }
            return requeue(buffer)
        }
        if let sequence = header?.seq {
            if sequence > lastSequence, lastSequence > 0, sequence - lastSequence < 1000 {
                lost += sequence - lastSequence - 1
            }
            lastSequence = sequence
        }
        var arrival = Arrival(
            buffer: buffer, timestamp: NodeStream.timestamp(header, now), crop: crop(content),
            damage: isDamageUnknown ? nil : damage(content))
        isDamageUnknown = false
        if let old = newest {
            if !isRateLimited { lost += 1 }
            arrival.damage = NodeStream.merged(old.damage, arrival.damage)
            requeue(old.buffer)
        }
        newest = arrival
    }

    /// Of the last two seconds: some producers count from another beginning.
    private static func timestamp(_ header: spa_meta_header?, _ now: MediaTime) -> MediaTime {
        guard let header, header.pts > 0 else { return now }
        let age = now.nanoseconds &- header.pts
        return (0...2_000_000_000).contains(age) ? MediaTime(nanoseconds: header.pts) : now
    }

    private func crop(_ content: UnsafeMutablePointer<spa_buffer>) -> PixelRect? {
        var region = spa_region()
        guard let size = format?.size, cpw_crop(content, &region) else { return nil }
        let rect = PixelRect(region)
        let whole = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        return rect == whole || rect.clipped(to: whole) != rect ? nil : rect
    }

    private func damage(_ content: UnsafeMutablePointer<spa_buffer>) -> [PixelRect]? {
        withUnsafeTemporaryAllocation(of: spa_region.self, capacity: NodeStream.maximumDamage) { regions in
            let count = cpw_damage(content, regions.baseAddress!, Int32(NodeStream.maximumDamage))
            // Some producers announce damage and state none.
            return count <= 0 ? nil : regions[..<Int(count)].map(PixelRect.init)
        }
    }

    private static func merged(_ old: [PixelRect]?, _ new: [PixelRect]?) -> [PixelRect]? {
        guard let old, let new, old.count + new.count <= maximumDamage else { return nil }
        return old + new
    }
}

/// The object behind a callback's pointer.
private func owner(_ this: UnsafeMutableRawPointer?) -> NodeStream {
    Unmanaged<NodeStream>.fromOpaque(this!).takeUnretainedValue()
}

extension PixelRect {
    init(_ region: spa_region) {
        self.init(
            x: Int(region.position.x), y: Int(region.position.y), width: Int(region.size.width),
            height: Int(region.size.height))
    }
}
