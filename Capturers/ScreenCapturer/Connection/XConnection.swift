import CLibXCB
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A connection to an X server. Used by one thread at a time; closed when the last reference goes.
///
/// No call waits longer than ``timeout`` for the server, and none once the capture is being stopped: a server that
/// hangs must not hang its clients.
final class XConnection {
    /// How long an answer may take.
    static let timeout = 5.0

    let handle: OpaquePointer
    let root: xcb_window_t
    let rootDepth: UInt8
    let rootVisual: xcb_visualid_t
    let extensions: XExtensions
    /// Becomes readable when waiting is to end; -1 for none.
    var stopDescriptor: Int32 = -1

    /// Takes over an open connection.
    init(handle: OpaquePointer, screen: xcb_screen_t) {
        self.handle = handle
        root = screen.root
        rootDepth = screen.root_depth
        rootVisual = screen.root_visual
        extensions = XExtensions(handle)
    }

    deinit { xcb_disconnect(handle) }

    var descriptor: Int32 { xcb_get_file_descriptor(handle) }
    var isBroken: Bool { xcb_connection_has_error(handle) != 0 }

    /// The answer to a request, which the caller frees; nil when the protocol has none for it.
    func reply<Reply>(_ sequence: UInt32, as type: Reply.Type) throws(XFailure) -> UnsafeMutablePointer<Reply> {
        xcb_flush(handle)
        var answer: UnsafeMutableRawPointer?
        var error: UnsafeMutablePointer<xcb_generic_error_t>?
        var remaining = XConnection.timeout
        while xcb_poll_for_reply(handle, sequence, &answer, &error) == 0 {
            if isBroken { throw .gone }
            let begin = MonotonicClock().now
            switch wait(seconds: remaining) {
            case .readable: break
            case .stopped:
                xcb_discard_reply(handle, sequence)
                throw .stopping
            case .timeout:
                xcb_discard_reply(handle, sequence)
                throw .silent
            }
            remaining = max(0, remaining - (MonotonicClock().now - begin).seconds)
        }
        if let error {
            let code = error.pointee.error_code
            free(error)
            throw .refused(code: code)
        }
        guard let answer else { throw .gone }
        return answer.assumingMemoryBound(to: Reply.self)
    }

    /// What `body` makes of the answer to a request.
    func answer<Reply, Result>(
        _ sequence: UInt32, as type: Reply.Type, _ body: (UnsafeMutablePointer<Reply>) -> Result
    ) throws(XFailure) -> Result {
        let answer = try reply(sequence, as: type)
        defer { free(answer) }
        return body(answer)
    }

    /// Throws when the server has refused a checked request.
    func check(_ cookie: xcb_void_cookie_t) throws(XFailure) {
        // An answer to anything later means that the request has been carried out.
        let probe = xcb_get_input_focus(handle)
        try answer(probe.sequence, as: xcb_get_input_focus_reply_t.self) { _ in }
        if let error = xcb_request_check(handle, cookie) {
            let code = error.pointee.error_code
            free(error)
            throw .refused(code: code)
        }
    }

    enum Wait { case readable, stopped, timeout }

    /// Sleeps until the server has sent something, or for a number of seconds, indefinitely without one.
    ///
    /// - Parameter interrupt: what else ends it, when it can be read; nil for a stop of the capture.
    @discardableResult
    func wait(seconds: Double?, interruptedBy interrupt: Int32? = nil) -> Wait {
        let deadline = seconds.map { MonotonicClock().now.advanced(by: .seconds(min(max($0, 0), 1e6))) }
        let found = pollInput(descriptor, interruptedBy: interrupt ?? stopDescriptor, until: deadline)
        if found.contains(.interrupted) { return .stopped }
        // Where nothing is known the caller looks at the connection, and waits again.
        return found.isEmpty ? .timeout : .readable
    }
}
