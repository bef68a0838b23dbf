import CPipeWire
import PipeWireSupport
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The node of a camera, which sends single frames. Confined to the camera's thread, on which the connection
/// runs its events.
final class CameraStream {
    /// Whether a program reads the node.
    private(set) var isRead = false
    /// Why the stream has ended, in the library's words.
    private(set) var failure: String?

    private let connection: PipeWireConnection
    private let stream: PipeWireStream
    private let size: PixelSize
    /// GStreamer and others expect rows of multiples of four bytes.
    private let stride: Int
    private let layout: (planes: PlaneList<(offset: Int, stride: Int)>, byteCount: Int)
    private var sequence: UInt64 = 0
    /// Since when the readers have all buffers.
    private var starvedSince: MediaTime?
    private static let starvationTimeout = Duration.milliseconds(500)
    /// The frame to send, while it is being sent.
    private var pending: (pixels: PixelBuffer, timestamp: MediaTime)?

    init(
        _ connection: PipeWireConnection, _ configuration: PipeWireCamera.Configuration, size: PixelSize
    ) throws(CaptureError) {
        self.connection = connection
        self.size = size
        stride = (size.width + 3) / 4 * 4
        layout = PipeWireFormat.layout(stride: stride, .nv12, size)
        stream = try PipeWireStream(
            connection, name: configuration.name,
            [
                (PW_KEY_MEDIA_CLASS, "Video/Source"), (PW_KEY_MEDIA_ROLE, "Camera"),
                (PW_KEY_NODE_NAME, configuration.nodeName), (PW_KEY_NODE_DESCRIPTION, configuration.name),
                (PW_KEY_NODE_NICK, configuration.name),
            ], for: "offer a PipeWire camera")
        listen()
        let rate = configuration.frameRate
        try stream.check(
            cpw_connect_camera(
                stream.handle, PipeWireFormat.code(of: .nv12)!, UInt32(size.width), UInt32(size.height),
                UInt32(rate.frames), UInt32(rate.seconds)))
    }

    /// Sends a frame of NV12 in the node's size.
    ///
    /// - Returns: false when the readers have all buffers.
    func send(_ pixels: PixelBuffer, at timestamp: MediaTime) -> Bool {
        pending = (pixels, timestamp)
        defer { pending = nil }
        // Calls `process` before it returns.
        pw_stream_trigger_process(stream.handle)
        if pending == nil {
            starvedSince = nil
            return true
        }
        let now = MonotonicClock().now
        let since = starvedSince ?? now
        starvedSince = since
        if now >= since + CameraStream.starvationTimeout { renew() }
        return false
    }

    /// Has new buffers made. A reader that leaves takes those with it that it was being sent: the server keeps them until
    /// the node is suspended.
    private func renew() {
        starvedSince = nil
        connection.suspend(pw_stream_get_node_id(stream.handle))
    }

    private func listen() {
        stream.listen(self) { events in
            events.state_changed = { this, old, state, error in
                let camera = owner(this)
                camera.isRead = state == PW_STREAM_STATE_STREAMING
                if old == PW_STREAM_STATE_STREAMING, state == PW_STREAM_STATE_PAUSED { camera.renew() }
                if state == PW_STREAM_STATE_ERROR || (state == PW_STREAM_STATE_UNCONNECTED && old != state) {
                    camera.failure = error.map { String(cString: $0) } ?? "the stream was disconnected"
                }
            }
            events.param_changed = { this, id, pod in
                guard id == SPA_PARAM_Format.rawValue, pod != nil else { return }
                let camera = owner(this)
                _ = cpw_accept_camera(camera.stream.handle, Int32(camera.layout.byteCount), Int32(camera.stride))
            }
            events.process = { this in owner(this).process() }
        }
    }

    private func process() {
        guard let (pixels, timestamp) = pending, let handle = pw_stream_dequeue_buffer(stream.handle) else { return }
        // Queued in any case: a buffer that is kept is lost.
        defer { pw_stream_queue_buffer(stream.handle, handle) }
        guard let content = handle.pointee.buffer, content.pointee.n_datas > 0,
            let memory = content.pointee.datas[0].data,
            let chunk = content.pointee.datas[0].chunk, Int(content.pointee.datas[0].maxsize) >= layout.byteCount
        else { return }
        for plane in pixels.planes.indices {
            let (offset, stride) = layout.planes[plane]
            for row in 0..<pixels.planes[plane].rows {
                pixels.withRow(row, ofPlane: plane) { bytes in
                    _ = memcpy(memory + offset + row * stride, bytes.baseAddress!, min(bytes.count, stride))
                }
            }
        }
        chunk.pointee.offset = 0
        chunk.pointee.size = UInt32(layout.byteCount)
        chunk.pointee.stride = Int32(stride)
        chunk.pointee.flags = 0
        if let header = cpw_header(content) {
            header.pointee.pts = timestamp.nanoseconds
            header.pointee.seq = sequence
            header.pointee.flags = 0
            header.pointee.dts_offset = 0
        }
        sequence &+= 1
        pending = nil
    }
}

/// The object behind a callback's pointer.
private func owner(_ this: UnsafeMutableRawPointer?) -> CameraStream {
    Unmanaged<CameraStream>.fromOpaque(this!).takeUnretainedValue()
}
