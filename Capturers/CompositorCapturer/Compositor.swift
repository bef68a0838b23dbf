import CScreencopy
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A connection to a Wayland compositor, and its monitors. Confined to the thread that made it, which runs its events
/// between its other work: ``run()`` when ``descriptor`` can be read.
///
/// Wayland: <https://wayland.freedesktop.org/docs/html/>.
final class Compositor {
    /// A monitor, as far as the compositor has described it.
    struct Output {
        /// The compositor's number.
        let number: UInt32
        /// Its name, such as `HDMI-A-1`; that of its number where the compositor does not say it.
        var name: String
        /// Its mode in pixels; zero while it is off.
        var size = PixelSize(width: 0, height: 0)
        /// How its pictures must be rotated for display.
        var orientation = VideoOrientation.up
        /// Of the library.
        fileprivate(set) var proxy: OpaquePointer

        /// Whether a part lies in it. Logical pixels are never smaller than its own, so more may be refused by the compositor.
        func holds(_ part: PixelRect) -> Bool {
            let isUpright = orientation == .up || orientation == .down
            let (width, height) = isUpright ? (size.width, size.height) : (size.height, size.width)
            return part.x + part.width <= width && part.y + part.height <= height
        }
    }

    /// The monitors, by the compositor's numbers.
    private(set) var outputs: [UInt32: Output] = [:]
    private(set) var memory: OpaquePointer?
    private(set) var manager: OpaquePointer?
    private let display: OpaquePointer
    private let registry: OpaquePointer
    private let hooks: UnsafeMutablePointer<Hooks>
    private var answered = 0
    private let subject: String

    /// The functions that the library calls, at an address that does not change.
    private struct Hooks {
        var registry = wl_registry_listener()
        var output = wl_output_listener()
        var sync = wl_callback_listener()
    }

    /// Connects, and waits until the compositor has described its monitors.
    ///
    /// - Parameters:
    ///   - name: the compositor's socket; nil for that of `WAYLAND_DISPLAY`.
    ///   - interrupt: a descriptor that ends the wait when it can be read; negative for none.
    /// - Throws: `unavailable` without a compositor, without one that answers in time, and without one that lets programs
    ///   capture screens.
    init(_ name: String?, until deadline: MediaTime, interruptedBy interrupt: Int32) throws(CaptureError) {
        subject = name ?? environmentVariable("WAYLAND_DISPLAY") ?? "wayland-0"
        // The library prints an error for a path that cannot be.
        errno = ENOENT
        let folder = environmentVariable("XDG_RUNTIME_DIR") ?? ""
        let isPossible = subject.hasPrefix("/") || folder.hasPrefix("/") && "\(folder)/\(subject)".utf8.count < 108
        guard isPossible, subject.utf8.count < 108, let display = wl_display_connect(name) else {
            throw CaptureError(
                .unavailable, operation: "connect to the compositor", subject: subject, errno: errno,
                message:
                    "No Wayland compositor answers there; run the program in its session, with WAYLAND_DISPLAY and "
                    + "XDG_RUNTIME_DIR set.")
        }
        guard let registry = wl_display_get_registry(display) else {
            wl_display_disconnect(display)
            throw CaptureError(
                .unavailable, operation: "connect to the compositor", subject: subject,
                message: "The machine has no memory left.")
        }
        self.display = display
        self.registry = registry
        hooks = UnsafeMutablePointer<Hooks>.allocate(capacity: 1)
        hooks.initialize(to: Hooks())
        listen()
        // The first answer ends the list of globals, the second one their descriptions.
        for _ in 0..<2 { try synchronize(until: deadline, interruptedBy: interrupt) }
        guard manager != nil, memory != nil else {
            throw CaptureError(
                .unavailable, operation: "connect to the compositor", subject: subject,
                message:
                    "This compositor does not let programs capture its screens by wlr-screencopy 3, as sway, labwc, "
                    + "Hyprland and cage do; use the desktop portal.")
        }
    }

    deinit {
        for output in outputs.values { release(output) }
        if let manager { csc_manager_destroy(manager) }
        if let memory { wl_shm_destroy(memory) }
        wl_registry_destroy(registry)
        wl_display_disconnect(display)
        hooks.deallocate()
    }

    /// Readable when ``run()`` has something to do.
    var descriptor: Int32 { wl_display_get_fd(display) }

    /// Whether the connection has ended.
    var isLost: Bool { wl_display_get_error(display) != 0 }

    /// Sends requests, and handles the events that have arrived, without waiting.
    func run() {
        while wl_display_prepare_read(display) != 0 {
            if wl_display_dispatch_pending(display) < 0 { return }
        }
        if pollInput(descriptor, interruptedBy: -1, until: .zero).contains(.ready) {
            if wl_display_read_events(display) < 0 { return }
        } else {
            wl_display_cancel_read(display)
        }
        _ = wl_display_dispatch_pending(display)
        // Those of the events' handlers too. The compositor takes what does not fit the next time.
        _ = wl_display_flush(display)
    }

    private func synchronize(until deadline: MediaTime, interruptedBy interrupt: Int32) throws(CaptureError) {
        guard let callback = wl_display_sync(display) else { return }
        let expected = answered + 1
        wl_callback_add_listener(callback, &hooks.pointee.sync, Unmanaged.passUnretained(self).toOpaque())
        run()
        while answered < expected {
            let found = pollInput(descriptor, interruptedBy: interrupt, until: deadline)
            let isLate = MonotonicClock().now >= deadline
            guard !found.contains(.interrupted), !isLost, !isLate else {
                // Its listener would be called without this object.
                wl_callback_destroy(callback)
                throw CaptureError(
                    found.contains(.interrupted) ? .invalidState : .unavailable, operation: "connect to the compositor",
                    subject: subject,
                    message: found.contains(.interrupted)
                        ? "The capture was stopped while it waited for the compositor."
                        : isLost ? "The compositor has ended the connection." : "The compositor does not answer.")
            }
            run()
        }
    }

    private func listen() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        hooks.pointee.sync.done = { this, callback, _ in
            wl_callback_destroy(callback)
            compositor(this).answered += 1
        }
        hooks.pointee.registry.global = { this, registry, id, interface, version in
            compositor(this).add(id, interface.map { String(cString: $0) } ?? "", version, registry)
        }
        hooks.pointee.registry.global_remove = { this, _, id in
            guard let output = compositor(this).outputs.removeValue(forKey: id) else { return }
            compositor(this).release(output)
        }
        hooks.pointee.output.geometry = { this, output, _, _, _, _, _, _, _, transform in
            compositor(this).change(output) { monitor in
                // Counted counterclockwise, as the pictures are turned. Whether they are mirrored too, frames cannot state.
                monitor.orientation = VideoOrientation(clockwiseDegrees: Int(transform & 3) * 90) ?? .up
            }
        }
        hooks.pointee.output.mode = { this, output, flags, width, height, _ in
            guard flags & UInt32(WL_OUTPUT_MODE_CURRENT.rawValue) != 0 else { return }
            compositor(this).change(output) { $0.size = PixelSize(width: Int(width), height: Int(height)) }
        }
        hooks.pointee.output.name = { this, output, name in
            guard let name else { return }
            compositor(this).change(output) { $0.name = String(cString: name) }
        }
        hooks.pointee.output.done = { _, _ in }
        hooks.pointee.output.scale = { _, _, _ in }
        hooks.pointee.output.description = { _, _, _ in }
        wl_registry_add_listener(registry, &hooks.pointee.registry, this)
    }

    private func add(_ id: UInt32, _ interface: String, _ version: UInt32, _ registry: OpaquePointer?) {
        switch interface {
        case "wl_shm" where memory == nil: memory = csc_memory_bind(registry, id)
        case "wl_output":
            // Version 4 has the name.
            guard let proxy = csc_output_bind(registry, id, min(version, 4)) else { return }
            outputs[id] = Output(number: id, name: "output-\(id)", proxy: proxy)
            wl_output_add_listener(proxy, &hooks.pointee.output, Unmanaged.passUnretained(self).toOpaque())
        case String(cString: csc_manager_name) where version >= 3 && manager == nil:
            manager = csc_manager_bind(registry, id)
        default: break
        }
    }

    private func change(_ proxy: OpaquePointer?, _ change: (inout Output) -> Void) {
        guard let id = outputs.first(where: { $0.value.proxy == proxy })?.key else { return }
        change(&outputs[id]!)
    }

    private func release(_ output: Output) { wl_output_destroy(output.proxy) }
}

extension Compositor {
    /// The monitor of a name, or the first one where it is nil.
    func output(named name: String?) -> Output? {
        outputs.sorted { $0.key < $1.key }.first { name == nil || $0.value.name == name }?.value
    }
}

/// The object behind a callback's pointer.
private func compositor(_ this: UnsafeMutableRawPointer?) -> Compositor {
    Unmanaged<Compositor>.fromOpaque(this!).takeUnretainedValue()
}
