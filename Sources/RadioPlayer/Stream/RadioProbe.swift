import AudioCapturing
import HTTPTransport

/// Asks a server for the kind of an address's content, for programs that play more than radios.
package enum RadioProbe {
    /// Whether an address is a radio or an MP3 file: by the headers of the answer, or of a playlist by its type. Waits for
    /// the answer.
    ///
    /// - Parameters:
    ///   - url: the address.
    ///   - configuration: how it is received.
    ///   - limit: how long to wait for the answer.
    ///   - isStopped: asked at least each tenth of a second; true ends the wait.
    /// - Returns: true for sound; false for all else, and without an answer.
    package static func isRadio(
        _ url: String, configuration: RadioConfiguration = RadioConfiguration(), limit: Duration = .seconds(5),
        isStopped: () -> Bool = { false }
    ) -> Bool {
        guard let address = try? RadioStream.address(url), let transport = try? HTTPRadioTransport(configuration) else {
            return false
        }
        var hasBody = false
        transport.onBody = { _ in
            hasBody = true
            return false
        }
        var request = RadioRequest(address: address)
        request.credential = configuration.credential ?? address.credential
        guard (try? transport.begin(request)) != nil else { return false }
        let end = MonotonicClock().now.advanced(by: limit)
        while !hasBody, transport.end == nil, MonotonicClock().now < end, !isStopped() {
            transport.work()
            transport.wait(
                until: min(end, MonotonicClock().now.advanced(by: .milliseconds(100))), stop: -1, event: nil)
        }
        let response = transport.response
        transport.cancel()
        return response.contentType.hasPrefix("audio/") || response.contentType.contains("mpegurl")
            || response.fields.contains { $0.name == "icy-name" || $0.name == "icy-metaint" }
    }
}
