import CScreencopy
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Copies the pictures of one monitor into memory that is shared with the compositor, one at a time. Confined to the capture
/// thread.
final class ScreenCopy {
    /// A picture that the compositor has copied. Valid until the next one is asked for.
    struct Picture {
        var memory: PixelBuffer.PlaneMemory
        var pixelFormat: PixelFormat
        var size: PixelSize
        /// The parts that differ from the picture before, if it was copied when something had changed.
        var damage: [PixelRect]
        var timestamp: MediaTime
    }

    private enum Phase {
        case idle
        /// The compositor is asked for the layout, or for the pixels.
        case asked
        case copied
        case failed
    }

    private let compositor: Compositor
    private let output: Compositor.Output
    private var isWhenChanged = false
    private let region: PixelRect?
    private let showsPointer: Bool
    private let listener: UnsafeMutablePointer<csc_frame_listener>
    private var phase = Phase.idle
    private var frame: OpaquePointer?
    private var buffer: SharedBuffer?
    private var offer: SharedBuffer.Layout?
    private var damage: [PixelRect] = []
    private var isInverted = false
    private var timestamp = MediaTime.zero
    /// Why no picture can be copied; nil as long as it can.
    private(set) var problem: String?

    init(_ compositor: Compositor, _ output: Compositor.Output, region: PixelRect?, showsPointer: Bool) {
        self.compositor = compositor
        self.output = output
        self.region = region
        self.showsPointer = showsPointer
        listener = .allocate(capacity: 1)
        listener.initialize(to: csc_frame_listener())
        listen()
    }

    deinit {
        if let frame { csc_frame_destroy(frame) }
        // Before the connection, whose last reference this may be.
        buffer = nil
        listener.deallocate()
    }

    /// Whether the monitor is still there.
    var hasOutput: Bool { compositor.outputs[output.number] != nil }

    /// Whether the compositor has been asked for a picture that it has not copied yet.
    var isWaiting: Bool { phase == .asked }

    /// The size of the picture that was copied; nil without one.
    var size: PixelSize? { phase == .copied ? buffer?.layout.size : nil }

    /// Asks for a picture, at once or when something has changed, unless that is done already. The monitor must be there.
    func ask(whenChanged: Bool) {
        guard phase != .asked, let manager = compositor.manager else { return }
        phase = .failed
        isWhenChanged = whenChanged
        damage = []
        isInverted = false
        offer = nil
        let pointer: Int32 = showsPointer ? 1 : 0
        frame =
            region.map {
                csc_capture_region(
                    manager, pointer, output.proxy, Int32($0.x), Int32($0.y), Int32($0.width), Int32($0.height))
            } ?? csc_capture(manager, pointer, output.proxy)
        guard let frame else { return }
        phase = .asked
        csc_frame_listen(frame, listener, Unmanaged.passUnretained(self).toOpaque())
        compositor.run()
    }

    /// Forgets a picture that was asked for.
    func cancel() { end(.idle) }

    /// The picture that was copied, once.
    func take() -> Picture? {
        guard phase == .copied, let buffer else { return nil }
        phase = .idle
        if isInverted { buffer.turnUpsideDown() }
        return Picture(
            memory: buffer.memory, pixelFormat: buffer.layout.pixelFormat, size: buffer.layout.size,
            damage: isInverted ? [buffer.layout.whole] : damage, timestamp: timestamp)
    }

    /// Whether the last picture could not be copied, as while the monitor is off; once.
    func takeFailure() -> Bool {
        guard phase == .failed else { return false }
        phase = .idle
        return true
    }

    private func listen() {
        listener.pointee.buffer = { this, _, format, width, height, stride in
            copy(this).offer = SharedBuffer.Layout(format: format, width: width, height: height, stride: stride)
            if copy(this).offer == nil { copy(this).problem = "layout \(format), \(width)x\(height), \(stride) bytes" }
        }
        listener.pointee.buffer_done = { this, _ in copy(this).begin() }
        listener.pointee.flags = { this, _, flags in copy(this).isInverted = flags & 1 != 0 }
        listener.pointee.damage = { this, _, x, y, width, height in
            copy(this).damage.append(
                PixelRect(
                    x: Int(clamping: x), y: Int(clamping: y), width: Int(clamping: width), height: Int(clamping: height)
                ))
        }
        listener.pointee.ready = { this, _, high, low, nanoseconds in
            let seconds = UInt64(high) << 32 | UInt64(low)
            copy(this).timestamp = MediaTime(
                nanoseconds: Int64(clamping: seconds.multipliedReportingOverflow(by: 1_000_000_000).partialValue)
                    &+ Int64(nanoseconds))
            copy(this).end(.copied)
        }
        listener.pointee.failed = { this, _ in copy(this).end(.failed) }
        listener.pointee.dma_buffer = { _, _, _, _, _ in }
    }

    /// Has the compositor copy, once it has said the layout.
    private func begin() {
        guard let offer, let frame, let memory = compositor.memory else { return end(.failed) }
        if buffer?.layout != offer { buffer = SharedBuffer(offer, memory) }
        guard let buffer else {
            problem = "no memory for \(offer.size.width)x\(offer.size.height)"
            return end(.failed)
        }
        problem = nil
        csc_frame_copy(frame, buffer.proxy, isWhenChanged ? 1 : 0)
    }

    private func end(_ phase: Phase) {
        self.phase = phase
        if let frame { csc_frame_destroy(frame) }
        frame = nil
    }
}

/// The object behind a callback's pointer.
private func copy(_ this: UnsafeMutableRawPointer?) -> ScreenCopy {
    Unmanaged<ScreenCopy>.fromOpaque(this!).takeUnretainedValue()
}

/// Memory that is shared with the compositor.
private final class SharedBuffer {
    /// How a picture lies in it.
    struct Layout: Hashable {
        var pixelFormat: PixelFormat
        var format: UInt32
        var size: PixelSize
        var bytesPerRow: Int

        /// - Returns: nil for one that is impossible, or whose pixels are not known.
        init?(format: UInt32, width: UInt32, height: UInt32, stride: UInt32) {
            // Little-endian words, the first name in the highest bits (drm_fourcc.h).
            switch format {
            case UInt32(WL_SHM_FORMAT_ARGB8888.rawValue), UInt32(WL_SHM_FORMAT_XRGB8888.rawValue): pixelFormat = .bgra
            case UInt32(WL_SHM_FORMAT_ABGR8888.rawValue), UInt32(WL_SHM_FORMAT_XBGR8888.rawValue): pixelFormat = .rgba
            case UInt32(WL_SHM_FORMAT_RGB888.rawValue): pixelFormat = .bgr24
            case UInt32(WL_SHM_FORMAT_BGR888.rawValue): pixelFormat = .rgb24
            default: return nil
            }
            let sides = 1...UInt32(VideoFormat.maximumSide)
            guard sides.contains(width), sides.contains(height) else { return nil }
            let rowBytes = pixelFormat.rowBytes(ofPlane: 0, width: Int(width))
            guard (rowBytes...rowBytes + 4096).contains(Int(stride)) else { return nil }
            self.format = format
            size = PixelSize(width: Int(width), height: Int(height))
            bytesPerRow = Int(stride)
        }

        var whole: PixelRect { PixelRect(x: 0, y: 0, width: size.width, height: size.height) }
    }

    let layout: Layout
    /// Of the library.
    let proxy: OpaquePointer
    let memory: PixelBuffer.PlaneMemory
    private let base: UnsafeMutableRawPointer

    /// - Returns: nil without memory.
    init?(_ layout: Layout, _ server: OpaquePointer) {
        let count = layout.bytesPerRow * layout.size.height
        let descriptor = csc_shared_memory(count)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let base = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), base != MAP_FAILED else {
            return nil
        }
        guard let pool = wl_shm_create_pool(server, descriptor, Int32(count)) else {
            munmap(base, count)
            return nil
        }
        defer { wl_shm_pool_destroy(pool) }
        guard
            let proxy = wl_shm_pool_create_buffer(
                pool, 0, Int32(layout.size.width), Int32(layout.size.height), Int32(layout.bytesPerRow), layout.format)
        else {
            munmap(base, count)
            return nil
        }
        self.layout = layout
        self.proxy = proxy
        self.base = base
        memory = PixelBuffer.PlaneMemory(base: base, byteCount: count, bytesPerRow: layout.bytesPerRow)
    }

    deinit {
        wl_buffer_destroy(proxy)
        munmap(base, memory.byteCount)
    }

    /// Some compositors draw from the bottom up.
    func turnUpsideDown() {
        let stride = layout.bytesPerRow
        withUnsafeTemporaryAllocation(byteCount: stride, alignment: 16) { spare in
            for row in 0..<layout.size.height / 2 {
                let (upper, lower) = (base + row * stride, base + (layout.size.height - 1 - row) * stride)
                memcpy(spare.baseAddress!, upper, stride)
                memcpy(upper, lower, stride)
                memcpy(lower, spare.baseAddress!, stride)
            }
        }
    }
}
