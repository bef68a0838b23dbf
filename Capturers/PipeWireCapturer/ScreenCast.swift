import DesktopPortal
import VideoCapturing

/// The screen of a source: the session with the desktop portal, and the user's consent. Confined to the capture thread.
final class ScreenCast {
    private let configuration: WaylandScreenCapturer.Configuration
    private let consent: ConsentFile?
    private var portal: ScreenCastPortal?
    /// Stands for the user's consent at the next time.
    private var token: String?
    private var wasOpen = false

    init(_ configuration: WaylandScreenCapturer.Configuration) {
        self.configuration = configuration
        consent = configuration.consentFile.map(ConsentFile.init)
    }

    /// For people.
    var title: String { configuration.target == .window ? "Wayland window" : "Wayland screen" }

    /// Readable when `isLost()` may have something to report; -1 while there is no cast.
    var descriptor: Int32 { portal?.descriptor ?? -1 }

    /// Asks for a screen; the user is asked where there is no consent yet.
    ///
    /// - Parameters:
    ///   - interrupt: a descriptor that ends the wait for the user when it can be read.
    ///   - report: takes events for the user.
    /// - Throws: the errors of `ScreenCastPortal`; `deviceLost` for a screen that would need a second consent.
    func open(
        interruptedBy interrupt: Int32, _ report: (PipeWireCapturer.Event) -> Void
    ) throws(CaptureError) -> ScreenCastPortal.Cast {
        // Another capture may have used the token and stored a newer one.
        token = consent?.load() ?? token
        if wasOpen, token == nil {
            throw CaptureError(
                .deviceLost, operation: "capture the screen", subject: title,
                message: "The desktop has ended the sharing, and remembers no consent; start again to be asked.")
        }
        let portal = try ScreenCastPortal(interruptedBy: interrupt)
        if token == nil { report(.waitingForChoice) }
        let sources: ScreenCastPortal.Sources =
            switch configuration.target {
            case .any: [.monitor, .window]
            case .monitor: .monitor
            case .window: .window
            }
        let cast = try portal.start(sources, showsPointer: configuration.showsPointer, restoreToken: token)
        // It was for one use.
        token = cast.restoreToken
        if let consent, let token, let reason = consent.store(token) { report(.consentNotKept(reason)) }
        self.portal = portal
        wasOpen = true
        return cast
    }

    /// Ends the cast.
    func close() { portal = nil }

    /// Whether the portal has ended, and the cast with it.
    ///
    /// - Throws: `deviceLost` when the user or the desktop has ended the cast, after which the user is not asked again.
    func isLost() throws(CaptureError) -> Bool {
        switch portal?.check() {
        case nil: return false
        case .portalLost: return true
        case .revoked:
            throw CaptureError(
                .deviceLost, operation: "capture the screen", subject: title,
                message: "The desktop has ended the sharing: the user stopped it, or the window was closed. The "
                    + "frames before are complete.")
        }
    }
}
