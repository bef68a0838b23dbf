package import CPipeWire
package import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A stream of a connection: the library's object, and the functions that it calls. Confined to the thread of the
/// connection, which it keeps.
package final class PipeWireStream {
    /// The library's stream.
    package let handle: OpaquePointer
    private let connection: PipeWireConnection
    private let operation: String
    private let hooks: UnsafeMutablePointer<Hooks>
    private var isListening = false

    /// What the library calls, at an address that does not change.
    private struct Hooks {
        var hook = spa_hook()
        var events = pw_stream_events()
    }

    /// Makes a stream that is not connected.
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - name: the name for PipeWire's tools.
    ///   - properties: the properties of its node.
    ///   - operation: for messages, as in `open the camera`.
    /// - Throws: `system`.
    package init(
        _ connection: PipeWireConnection, name: String, _ properties: [(key: String, value: String)],
        for operation: String
    ) throws(CaptureError) {
        let dictionary = cpw_properties()
        for (key, value) in properties { pw_properties_set(dictionary, key, value) }
        guard let handle = pw_stream_new(connection.core, name, dictionary) else {
            throw PipeWireStream.failure(errno, operation)
        }
        self.connection = connection
        self.operation = operation
        self.handle = handle
        hooks = .allocate(capacity: 1)
        hooks.initialize(to: Hooks())
    }

    deinit {
        // No event comes after this.
        if isListening { spa_hook_remove(&hooks.pointee.hook) }
        pw_stream_destroy(handle)
        hooks.deallocate()
    }

    /// Sets the functions that the library calls; once.
    ///
    /// - Parameters:
    ///   - owner: the first argument of each function, which must live longer than the stream.
    ///   - set: sets the functions.
    package func listen(_ owner: AnyObject, _ set: (inout pw_stream_events) -> Void) {
        hooks.pointee.events.version = UInt32(PW_VERSION_STREAM_EVENTS)
        set(&hooks.pointee.events)
        pw_stream_add_listener(
            handle, &hooks.pointee.hook, &hooks.pointee.events, Unmanaged.passUnretained(owner).toOpaque())
        isListening = true
    }

    /// Throws `system` for a result of the library that is an error.
    package func check(_ result: Int32) throws(CaptureError) {
        if result < 0 { throw PipeWireStream.failure(-result, operation) }
    }

    private static func failure(_ code: Int32, _ operation: String) -> CaptureError {
        CaptureError(
            .system, operation: operation, subject: "PipeWire", errno: code,
            message: "PipeWire refuses the stream; check its log with journalctl --user -u pipewire.")
    }
}
