package import CaptureCore

/// A screen cast of the desktop portal: asks the user for a screen, and gives the PipeWire node that shows it. The cast
/// lasts as long as this object. Confined to one thread.
///
/// The portal, version 1 to 5: <https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.ScreenCast.html>.
package final class ScreenCastPortal {
    /// The kinds of content.
    package struct Sources: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        package static let monitor = Sources(rawValue: 1)
        package static let window = Sources(rawValue: 2)
    }

    /// Where the pointer is.
    package struct CursorModes: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        package static let hidden = CursorModes(rawValue: 1)
        /// In the picture.
        package static let embedded = CursorModes(rawValue: 2)
        /// Apart from the picture.
        package static let metadata = CursorModes(rawValue: 4)
    }

    /// What the portal of this session can do.
    package struct Offer: Sendable, Hashable {
        package var version: UInt32
        package var sources: Sources
        package var cursorModes: CursorModes
    }

    /// A cast that was agreed to.
    package struct Cast: Sendable, Hashable {
        /// The PipeWire node.
        package var node: UInt32
        /// An open connection to PipeWire, which the caller closes.
        package var descriptor: Int32
        /// Stands for the user's consent once; nil where the portal remembers nothing.
        package var restoreToken: String?
    }

    /// How a cast has ended.
    package enum End: Sendable, Hashable {
        /// The user or the desktop has ended it.
        case revoked
        /// The portal has ended, and the cast with it.
        case portalLost
    }

    private static let portal = "org.freedesktop.portal.Desktop"
    private static let object = "/org/freedesktop/portal/desktop"
    private static let screenCast = "org.freedesktop.portal.ScreenCast"
    private static let operation = "ask for the screen"
    /// How long an answer may take without the user: the bus may have to start the portal.
    private static let answerTimeout = Duration.seconds(25)
    /// How long the user may take.
    package static let choiceTimeout = Duration.seconds(120)

    /// What the portal can do.
    package let offer: Offer
    private let bus: MessageBus
    private let interrupt: Int32
    /// The unique name of the portal: other programs could send signals as well.
    private let owner: String
    private var session = ""
    private var requestCount = 0
    private var end: End?

    /// Connects to the portal of the session.
    ///
    /// - Parameters:
    ///   - timeout: how long the portal may take to answer.
    ///   - interrupt: a descriptor that ends waits when it can be read, during `start` as well; -1 for none.
    /// - Throws: `unavailable` without a bus, without a portal, and for a portal that shares no screens; `invalidState`
    ///   after an interrupt.
    package init(timeout: Duration? = nil, interruptedBy interrupt: Int32) throws(CaptureError) {
        self.interrupt = interrupt
        let limit = MessageBus.Limit(
            deadline: MonotonicClock().now + (timeout ?? ScreenCastPortal.answerTimeout), interrupt: interrupt)
        do {
            bus = try MessageBus(limit)
        } catch .lost {
            throw ScreenCastPortal.unavailable(
                "There is no session bus (D-Bus) for this user; run the program in the desktop session.")
        } catch {
            throw ScreenCastPortal.failure(error)
        }
        do {
            let answer = try bus.call(
                ScreenCastPortal.portal, ScreenCastPortal.object, "org.freedesktop.DBus.Properties", "GetAll",
                [.string(ScreenCastPortal.screenCast)], limit: limit)
            let properties = answer.values.first?.entries ?? [:]
            owner = answer.sender
            offer = Offer(
                version: properties["version"]?.number ?? 0,
                sources: Sources(rawValue: properties["AvailableSourceTypes"]?.number ?? 0),
                // Version 1 had none, and hid the pointer.
                cursorModes: CursorModes(rawValue: properties["AvailableCursorModes"]?.number ?? 1))
        } catch {
            throw ScreenCastPortal.failure(error)
        }
        guard offer.version > 0, !offer.sources.isDisjoint(with: [.monitor, .window]) else {
            throw ScreenCastPortal.noBackend
        }
    }

    /// Readable when `check()` may have something to report.
    package var descriptor: Int32 { bus.descriptor }

    /// Asks the user for a screen, and waits for the answer.
    ///
    /// - Parameters:
    ///   - sources: what may be chosen; what the portal does not offer is left out.
    ///   - showsPointer: whether the pointer is in the picture, where the portal can do both.
    ///   - restoreToken: the token of the newest cast, so that the user need not be asked.
    /// - Throws: `permissionDenied` when the user cancels, `unavailable` when the desktop cannot, `deviceNotFound` for
    ///   sources that the portal does not offer, `invalidState` after an interrupt.
    package func start(
        _ sources: Sources, showsPointer: Bool, restoreToken: String?
    ) throws(CaptureError) -> Cast {
        let offered = sources.intersection(offer.sources)
        guard !offered.isEmpty else {
            let only = offer.sources.contains(.monitor) ? "monitors" : "windows"
            throw CaptureError(
                .deviceNotFound, operation: ScreenCastPortal.operation, subject: "desktop portal",
                message: "This desktop shares \(only) only; leave out the other.")
        }
        do {
            let limit = answerLimit
            for rule in [
                "interface='org.freedesktop.portal.Request',member='Response'",
                "interface='org.freedesktop.portal.Session',member='Closed'",
            ] {
                try bus.subscribe("type='signal',sender='\(ScreenCastPortal.portal)',\(rule)", limit)
            }
            try bus.subscribe(
                "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                    + "member='NameOwnerChanged',arg0='\(ScreenCastPortal.portal)'", limit)
        } catch {
            throw ScreenCastPortal.failure(error)
        }
        let created = try request(
            "CreateSession", [], ["session_handle_token": .string("capture")], ScreenCastPortal.answerTimeout)
        session = created["session_handle"]?.text ?? ""
        try select(offered, showsPointer, restoreToken)
        let started = try request(
            "Start", [.path(session), .string("")], [:], ScreenCastPortal.choiceTimeout)
        guard let node = started["streams"]?.items?.first?.items?.first?.number else {
            throw ScreenCastPortal.unavailable(
                "The desktop portal has shared nothing; check its log with: journalctl --user -u xdg-desktop-portal")
        }
        let opened = try answer("OpenPipeWireRemote", [.path(session), .dictionary([:])], answerLimit)
        guard let descriptor = opened.takeDescriptor() else {
            throw ScreenCastPortal.unavailable("The desktop portal gives no connection to PipeWire; restart it.")
        }
        return Cast(node: node, descriptor: descriptor, restoreToken: started["restore_token"]?.text)
    }

    /// Handles the signals that have arrived, without waiting.
    ///
    /// - Returns: how the cast has ended; nil while it lasts.
    package func check() -> End? {
        while end == nil, let signal = bus.takeSignal() { _ = handle(signal) }
        if end == nil, !bus.isConnected { end = .portalLost }
        return end
    }

    // MARK: Calls

    private var answerLimit: MessageBus.Limit {
        MessageBus.Limit(deadline: MonotonicClock().now + ScreenCastPortal.answerTimeout, interrupt: interrupt)
    }

    private func select(_ sources: Sources, _ showsPointer: Bool, _ restoreToken: String?) throws(CaptureError) {
        var options: [String: BusValue] = ["types": .uint32(sources.rawValue), "multiple": .bool(false)]
        let wanted: [CursorModes] = showsPointer ? [.embedded, .hidden] : [.hidden, .metadata]
        if offer.version >= 2, let mode = wanted.first(where: { offer.cursorModes.contains($0) }) {
            options["cursor_mode"] = .uint32(mode.rawValue)
        }
        if offer.version >= 4 {
            // Until it is revoked.
            options["persist_mode"] = .uint32(2)
            if let restoreToken { options["restore_token"] = .string(restoreToken) }
        }
        do throws(CaptureError) {
            _ = try request("SelectSources", [.path(session)], options, ScreenCastPortal.answerTimeout)
        } catch  where restoreToken != nil && error.code == .unavailable && check() == nil {
            // Some portals refuse a token that they do not know; the user is asked then.
            options["restore_token"] = nil
            _ = try request("SelectSources", [.path(session)], options, ScreenCastPortal.answerTimeout)
        }
    }

    /// A request: a call whose result comes by a signal, which may be faster than the call's own answer.
    private func request(
        _ method: String, _ arguments: [BusValue], _ options: [String: BusValue], _ timeout: Duration
    ) throws(CaptureError) -> [String: BusValue] {
        requestCount += 1
        var options = options
        options["handle_token"] = .string("capture\(requestCount)")
        let limit = MessageBus.Limit(deadline: MonotonicClock().now + timeout, interrupt: interrupt)
        let path = try answer(method, arguments + [.dictionary(options)], limit).values.first?.text ?? ""
        while true {
            let signal: BusMessage
            do { signal = try bus.nextSignal(limit) } catch { throw ScreenCastPortal.failure(error) }
            if signal.sender == owner, signal.member == "Response", signal.path == path {
                return try ScreenCastPortal.results(signal.values)
            }
            switch handle(signal) {
            case nil: continue
            case .revoked: throw ScreenCastPortal.unavailable("The desktop portal has ended the request; try again.")
            case .portalLost: throw ScreenCastPortal.failure(.lost)
            }
        }
    }

    private func answer(
        _ method: String, _ arguments: [BusValue], _ limit: MessageBus.Limit
    ) throws(CaptureError) -> BusMessage {
        do {
            return try bus.call(
                owner, ScreenCastPortal.object, ScreenCastPortal.screenCast, method, arguments, limit: limit)
        } catch {
            throw ScreenCastPortal.failure(error)
        }
    }

    // MARK: Signals

    private func handle(_ signal: BusMessage) -> End? {
        if signal.sender == owner, signal.member == "Closed", signal.path == session { end = .revoked }
        if signal.sender == "org.freedesktop.DBus", signal.member == "NameOwnerChanged", signal.values.count == 3,
            signal.values[1].text == owner
        {
            end = .portalLost
        }
        return end
    }
}

// MARK: Errors

extension ScreenCastPortal {
    /// The results of a request that was granted.
    private static func results(_ values: [BusValue]) throws(CaptureError) -> [String: BusValue] {
        switch values.first?.number {
        case 0: return values.dropFirst().first?.entries ?? [:]
        case 1:
            throw CaptureError(
                .permissionDenied, operation: operation, subject: "desktop portal",
                message: "The user did not share a screen; start again, and choose one in the dialog.")
        default:
            throw unavailable(
                "The desktop portal has cancelled the request; check its log with: "
                    + "journalctl --user -u xdg-desktop-portal")
        }
    }

    private static var noBackend: CaptureError {
        unavailable(
            "The desktop portal shares no screens. Install the backend of this desktop (xdg-desktop-portal-gnome, -kde, "
                + "-wlr), check that XDG_CURRENT_DESKTOP names the desktop, and log in again.")
    }

    private static func unavailable(_ message: String) -> CaptureError {
        CaptureError(.unavailable, operation: operation, subject: "desktop portal", message: message)
    }

    private static func failure(_ failure: MessageBus.Failure) -> CaptureError {
        switch failure {
        case .interrupted:
            CaptureError(
                .invalidState, operation: operation, subject: "desktop portal",
                message: "The capture was stopped while it waited for the desktop portal.")
        case .timeout:
            unavailable(
                "The desktop portal has not answered in time; restart it with: "
                    + "systemctl --user restart xdg-desktop-portal")
        case .lost, .refused(name: "org.freedesktop.DBus.Error.NoReply", message: _):
            unavailable("The desktop portal or its bus has ended during the request; try again.")
        case .refused(let name, _) where name.hasSuffix(".ServiceUnknown") || name.contains(".Spawn."):
            unavailable(
                "No desktop portal runs here. Install xdg-desktop-portal and the backend of this desktop "
                    + "(xdg-desktop-portal-gnome, -kde, -wlr), and log in again.")
        case .refused(let name, _) where name.hasSuffix(".UnknownInterface") || name.hasSuffix(".InvalidArgs"):
            noBackend
        case .refused(let name, let message):
            unavailable(
                "The desktop portal refuses: \(printable(message.isEmpty ? name : message, limit: 200)); check its "
                    + "log with: journalctl --user -u xdg-desktop-portal")
        }
    }
}
