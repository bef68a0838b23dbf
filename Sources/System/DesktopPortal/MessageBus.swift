internal import CDBus
internal import CaptureCore

/// A connection to the user's message bus (D-Bus). Confined to one thread, which waits for messages when it wants them:
/// no call blocks beyond its deadline, and every wait ends with an interrupt.
final class MessageBus {
    /// Why a call has no answer.
    enum Failure: Error {
        /// The peer or the bus refuses, with a name such as `org.freedesktop.DBus.Error.ServiceUnknown`.
        case refused(name: String, message: String)
        /// The connection has ended.
        case lost
        /// The time is over.
        case timeout
        /// The caller's descriptor has ended the wait.
        case interrupted
    }

    /// How long a wait may last.
    struct Limit {
        /// On `CLOCK_MONOTONIC`.
        var deadline: MediaTime
        /// A descriptor that ends the wait when it can be read.
        var interrupt: Int32
    }

    /// Signals that have arrived while a call waited for its answer, and were not taken yet.
    private var signals: [BusMessage] = []
    private let connection: OpaquePointer

    /// Where the bus of the session is, by the environment.
    private static var address: String? {
        if let address = environmentVariable("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return address }
        return environmentVariable("XDG_RUNTIME_DIR").map { "unix:path=\($0)/bus" }
    }

    /// Connects to the bus of the session.
    init(_ limit: Limit) throws(Failure) {
        // Never `autolaunch:`, which starts a bus that no portal is on.
        guard let address = MessageBus.address, let made = dbus_connection_open_private(address, nil) else {
            throw .lost
        }
        connection = made
        dbus_connection_set_exit_on_disconnect(made, 0)
        // Not `dbus_bus_register`, which cannot be interrupted.
        _ = try call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello", limit: limit)
    }

    deinit {
        dbus_connection_close(connection)
        dbus_connection_unref(connection)
    }

    /// Readable when there may be a message; -1 when the connection has ended.
    var descriptor: Int32 {
        var descriptor: Int32 = -1
        return dbus_connection_get_unix_fd(connection, &descriptor) != 0 ? descriptor : -1
    }

    /// Whether the connection lasts.
    var isConnected: Bool { dbus_connection_get_is_connected(connection) != 0 }

    /// Calls a method, and waits for its answer.
    func call(
        _ destination: String, _ path: String, _ interface: String, _ method: String, _ arguments: [BusValue] = [],
        limit: Limit
    ) throws(Failure) -> BusMessage {
        let serial = try send(destination, path, interface, method, arguments)
        while true {
            let message = try read(limit)
            guard message.replySerial == serial else {
                if message.isSignal { signals.append(message) }
                continue
            }
            if let error = message.errorName {
                throw .refused(name: error, message: message.values.first?.text ?? "")
            }
            return message
        }
    }

    /// Has the bus send signals that match a rule.
    func subscribe(_ rule: String, _ limit: Limit) throws(Failure) {
        _ = try call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", [.string(rule)],
            limit: limit)
    }

    /// Waits for the next signal.
    func nextSignal(_ limit: Limit) throws(Failure) -> BusMessage {
        if !signals.isEmpty { return signals.removeFirst() }
        while true {
            let message = try read(limit)
            if message.isSignal { return message }
        }
    }

    /// A signal that has arrived, without waiting; nil otherwise.
    func takeSignal() -> BusMessage? {
        try? nextSignal(Limit(deadline: .zero, interrupt: -1))
    }

    /// Sends a call.
    ///
    /// - Returns: the number that its answer has.
    private func send(
        _ destination: String, _ path: String, _ interface: String, _ method: String, _ arguments: [BusValue]
    ) throws(Failure) -> UInt32 {
        guard let message = dbus_message_new_method_call(destination, path, interface, method) else { throw .lost }
        defer { dbus_message_unref(message) }
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(message, &iterator)
        for argument in arguments { argument.append(to: &iterator) }
        var serial: UInt32 = 0
        guard isConnected, dbus_connection_send(connection, message, &serial) != 0 else { throw .lost }
        return serial
    }

    private func read(_ limit: Limit) throws(Failure) -> BusMessage {
        while true {
            // Reads and writes without blocking, for the greeting as well.
            dbus_connection_read_write(connection, 0)
            if let message = dbus_connection_pop_message(connection) { return BusMessage(message) }
            guard isConnected else { throw .lost }
            let now = MonotonicClock().now
            // The greeting has steps for which no input comes, and says not which.
            let isSending = dbus_connection_has_messages_to_send(connection) != 0
            let end = isSending ? min(limit.deadline, now + .milliseconds(2)) : limit.deadline
            let found = pollInput(descriptor, interruptedBy: limit.interrupt, until: end)
            if found.contains(.interrupted) { throw .interrupted }
            if !found.contains(.ready), now >= limit.deadline { throw .timeout }
        }
    }
}

/// A message that has arrived.
final class BusMessage {
    private let message: OpaquePointer
    /// The arguments.
    let values: [BusValue]

    /// Takes over the library's reference.
    fileprivate init(_ message: OpaquePointer) {
        self.message = message
        var iterator = DBusMessageIter()
        values = dbus_message_iter_init(message, &iterator) != 0 ? BusValue.all(&iterator) : []
    }

    deinit { dbus_message_unref(message) }

    /// The unique name of the sender, which the bus vouches for; `org.freedesktop.DBus` for the bus itself.
    var sender: String { dbus_message_get_sender(message).map { String(cString: $0) } ?? "" }
    /// The object that a signal is of.
    var path: String { dbus_message_get_path(message).map { String(cString: $0) } ?? "" }
    /// The name of a signal.
    var member: String { dbus_message_get_member(message).map { String(cString: $0) } ?? "" }
    var isSignal: Bool { dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_SIGNAL }
    fileprivate var replySerial: UInt32 { dbus_message_get_reply_serial(message) }
    fileprivate var errorName: String? {
        guard dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_ERROR else { return nil }
        return dbus_message_get_error_name(message).map { String(cString: $0) } ?? "an error without a name"
    }

    /// The descriptor that is the only argument, which the caller closes; nil for another argument.
    func takeDescriptor() -> Int32? {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(message, &iterator) != 0,
            dbus_message_iter_get_arg_type(&iterator) == Int32(UInt8(ascii: "h"))
        else { return nil }
        var descriptor: Int32 = -1
        dbus_message_iter_get_basic(&iterator, &descriptor)
        return descriptor < 0 ? nil : descriptor
    }
}
