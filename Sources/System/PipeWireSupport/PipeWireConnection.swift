internal import CPipeWire
package import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A connection to a PipeWire server, and the nodes that the server shows. Confined to the thread that made it, which runs
/// its events between its other work: `run()` when `descriptor` can be read.
///
/// PipeWire: <https://docs.pipewire.org/>.
package final class PipeWireConnection {
    /// Where the server is.
    package enum Address: Sendable, Hashable {
        /// The server of the user's session, or the one in `PIPEWIRE_REMOTE`.
        case session
        /// The path of a server's socket, or its name in `XDG_RUNTIME_DIR`.
        case named(String)
        /// An open connection, such as one of a desktop portal; the connection closes it.
        case descriptor(Int32)
    }

    /// The nodes that the server shows, by their number.
    package private(set) var nodes: [UInt32: PipeWireNode] = [:]
    /// Why the connection has ended, in the library's words; nil while it lasts.
    package private(set) var loss: String?
    /// The highest answer of the server so far; see `synchronize(until:interruptedBy:)`.
    private var answered: Int32 = -1

    /// Of the library: the connection's methods.
    package let core: OpaquePointer
    private let loop: UnsafeMutablePointer<pw_loop>
    private let context: OpaquePointer
    private let registry: OpaquePointer
    private let hooks: UnsafeMutablePointer<Hooks>

    /// What the library calls, at an address that does not change.
    private struct Hooks {
        var core = spa_hook()
        var registry = spa_hook()
        var coreEvents = pw_core_events()
        var registryEvents = pw_registry_events()
    }

    /// Connects.
    ///
    /// - Parameters:
    ///   - address: where the server is.
    ///   - operation: for messages, as in `open the camera`.
    /// - Throws: `unavailable` without a server, `permissionDenied`.
    package init(_ address: Address = .session, for operation: String) throws(CaptureError) {
        PipeWireConnection.initializeLibrary()
        guard let loop = pw_loop_new(nil) else { throw systemFailure(operation) }
        guard let context = pw_context_new(loop, nil, 0) else {
            let failure = systemFailure(operation)
            pw_loop_destroy(loop)
            throw failure
        }
        let connected: OpaquePointer?
        switch address {
        case .session: connected = pw_context_connect(context, nil, 0)
        case .named(let name):
            let properties = cpw_properties()
            pw_properties_set(properties, PW_KEY_REMOTE_NAME, name)
            connected = pw_context_connect(context, properties, 0)
        case .descriptor(let descriptor): connected = pw_context_connect_fd(context, descriptor, nil, 0)
        }
        let code = errno
        let hooks = UnsafeMutablePointer<Hooks>.allocate(capacity: 1)
        hooks.initialize(to: Hooks())
        guard let core = connected, let registry = cpw_registry_open(core) else {
            if let connected { pw_core_disconnect(connected) }
            pw_context_destroy(context)
            pw_loop_destroy(loop)
            hooks.deallocate()
            throw connectionFailure(code, operation)
        }
        self.loop = loop
        self.context = context
        self.core = core
        self.registry = registry
        self.hooks = hooks
        cpw_loop_enter(loop)
        listen()
    }

    deinit {
        cpw_registry_close(registry, &hooks.pointee.registry)
        spa_hook_remove(&hooks.pointee.core)
        pw_core_disconnect(core)
        pw_context_destroy(context)
        cpw_loop_leave(loop)
        pw_loop_destroy(loop)
        hooks.deallocate()
    }

    /// Readable when `run()` has something to do.
    package var descriptor: Int32 { cpw_loop_descriptor(loop) }

    /// Handles the events that have arrived, without waiting.
    package func run() { _ = cpw_loop_iterate(loop) }

    /// Waits until something has arrived, and handles it.
    ///
    /// - Parameters:
    ///   - deadline: on `CLOCK_MONOTONIC`; nil for indefinitely.
    ///   - interrupt: a descriptor that ends the wait when it can be read.
    ///   - other: one more; negative for none.
    package func wait(until deadline: MediaTime?, interruptedBy interrupt: Int32, or other: Int32 = -1) {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 3) { descriptors in
            for (index, value) in [descriptor, interrupt, other].enumerated() {
                descriptors.initializeElement(at: index, to: pollfd(fd: value, events: Int16(POLLIN), revents: 0))
            }
            _ = pollAll(descriptors, until: deadline)
        }
        run()
    }

    /// Waits until the server has answered all that was sent up to now, so that `nodes` is complete.
    ///
    /// - Throws: `unavailable` when the server has ended or the time is over, `invalidState` when the wait was interrupted.
    package func synchronize(
        until deadline: MediaTime, interruptedBy interrupt: Int32, for operation: String
    ) throws(CaptureError) {
        let request = cpw_core_sync(core)
        while answered < request {
            let found = pollInput(descriptor, interruptedBy: interrupt, until: deadline)
            guard !found.contains(.interrupted) else {
                throw CaptureError(
                    .invalidState, operation: operation, subject: "PipeWire",
                    message: "The capture was stopped while it waited for PipeWire.")
            }
            try checkServer(operation)
            guard MonotonicClock().now < deadline else {
                throw CaptureError(
                    .unavailable, operation: operation, subject: "PipeWire",
                    message: "The PipeWire server does not answer; restart it with: systemctl --user restart pipewire")
            }
            run()
        }
        try checkServer(operation)
    }

    /// - Throws: `unavailable` when the server has ended.
    package func checkServer(_ operation: String) throws(CaptureError) {
        if loss != nil { throw connectionFailure(EPIPE, operation) }
    }

    /// Has the server clear the format and the buffers of a node of ours, until a reader needs them again.
    package func suspend(_ node: UInt32) { cpw_suspend(registry, node) }

    private func listen() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        hooks.pointee.coreEvents.version = UInt32(PW_VERSION_CORE_EVENTS)
        hooks.pointee.coreEvents.done = { this, id, sequence in
            guard id == PW_ID_CORE else { return }
            connection(this).answered = max(connection(this).answered, sequence)
        }
        hooks.pointee.coreEvents.error = { this, id, _, result, message in
            // Other errors are of one object, whose events report them.
            guard id == PW_ID_CORE, result == -EPIPE else { return }
            connection(this).loss = message.map { String(cString: $0) } ?? "connection error"
        }
        hooks.pointee.registryEvents.version = UInt32(PW_VERSION_REGISTRY_EVENTS)
        hooks.pointee.registryEvents.global = { this, id, _, type, _, properties in
            guard let type, String(cString: type) == "PipeWire:Interface:Node", let properties else { return }
            connection(this).nodes[id] = PipeWireNode(id: id, properties)
        }
        hooks.pointee.registryEvents.global_remove = { this, id in connection(this).nodes[id] = nil }
        cpw_core_listen(core, &hooks.pointee.core, &hooks.pointee.coreEvents, this)
        cpw_registry_listen(registry, &hooks.pointee.registry, &hooks.pointee.registryEvents, this)
    }

    private static let isInitialized: Void = {
        pw_init(nil, nil)
        // Errors are returned as well; the library prints them on standard error otherwise.
        if environmentVariable("PIPEWIRE_DEBUG") == nil { pw_log_set_level(SPA_LOG_LEVEL_NONE) }
    }()

    /// Once for each process.
    private static func initializeLibrary() { isInitialized }

    /// The version of the library in use, as `0.3.65`.
    package static var libraryVersion: String { String(cString: pw_get_library_version()) }
}

/// The object behind a callback's pointer.
private func connection(_ this: UnsafeMutableRawPointer?) -> PipeWireConnection {
    Unmanaged<PipeWireConnection>.fromOpaque(this!).takeUnretainedValue()
}

private func systemFailure(_ operation: String) -> CaptureError {
    CaptureError(
        .system, operation: operation, subject: "PipeWire", errno: errno,
        message: "PipeWire's library cannot be set up; check the installation of libpipewire-0.3-modules.")
}

private func connectionFailure(_ code: Int32, _ operation: String) -> CaptureError {
    if code == EACCES || code == EPERM {
        return CaptureError(
            .permissionDenied, operation: operation, subject: "PipeWire", errno: code,
            message: "The PipeWire server rejects this user; run as the user of the desktop session.")
    }
    return CaptureError(
        .unavailable, operation: operation, subject: "PipeWire", errno: code,
        message: "No PipeWire server runs for this user. Start it with: systemctl --user start pipewire wireplumber")
}
