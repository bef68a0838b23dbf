import AudioCapturing
import HTTPTransport

/// A request for a stream.
package struct RadioRequest: Sendable {
    package var address: HTTPAddress
    /// The user name and password for this address; nil for none.
    package var credential: HTTPCredential?
    /// Whether titles are wanted.
    package var wantsMetadata = true
    /// The first byte wanted, of a file; 0 for all, and for a live stream.
    package var offset: Int64 = 0
}

/// The head of a response.
package struct RadioResponse: Sendable {
    /// 200; 0 when the server has answered without a head.
    package var status = 200
    /// As in `404 Not Found`.
    package var statusText = "200 OK"
    /// As in `audio/mpeg`, in lower case; empty without one.
    package var contentType = ""
    /// The number of bytes that follow; nil for a stream without end.
    package var contentLength: Int64?
    /// The names, in lower case, and values of all header lines.
    package var fields: [(name: String, value: [UInt8])] = []
    /// The address of the response, after redirects.
    package var address: HTTPAddress?
    /// Whether the server asks for a login that was not given.
    package var asksForLogin = false

    package init() {}

    /// The text of the last header of that name; nil without one, or if it is empty.
    package func text(_ name: String) -> String? {
        guard let value = fields.last(where: { $0.name == name })?.value, !value.isEmpty else { return nil }
        return decodeICYText(value)
    }
}

/// How a transfer has ended.
package enum TransferEnd: Sendable {
    /// In good order.
    case complete
    /// With fewer bytes than the server has stated, or an error of the network or the server.
    case failed(RadioError)
}

/// One request after the other, on one thread: HTTP, or a test's server.
package protocol RadioTransport: AnyObject {
    /// Called from ``work()`` and ``resumeBody()`` with bytes of the body; false ends the transfer.
    var onBody: (UnsafeRawBufferPointer) -> Bool { get set }
    /// The number of bytes that are wanted now; ``onBody`` is not called with more.
    var bodyRoom: () -> Int { get set }
    /// The head; complete when there are bytes of the body, or the transfer has ended.
    var response: RadioResponse { get }
    /// How the transfer has ended; nil while it goes on.
    var end: TransferEnd? { get }
    /// Whether a server has been connected to.
    var isConnected: Bool { get }
    /// Whether bytes wait for room.
    var isBodyHeld: Bool { get }
    /// Bytes received in all.
    var bytesReceived: UInt64 { get }
    /// Begins a request; a running one is cancelled.
    func begin(_ request: RadioRequest) throws(RadioError)
    /// Cancels the request.
    func cancel()
    /// Takes the bytes that have arrived, without waiting.
    func work()
    /// There is room again.
    func resumeBody()
    /// Waits until something has arrived, the time has come, or `stop` can be read, which is when `event` is raised, for
    /// transports without descriptors.
    func wait(until deadline: MediaTime, stop: Int32, event: ManualResetEvent?)
}
