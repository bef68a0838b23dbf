import AudioCapturing
import CapturerTestKit
import HTTPTransport

@testable import RadioPlayer

/// A radio in virtual time: sends a clip again and again at the speed of sound, with a burst, and has outages.
final class VirtualServer: Sendable {
    /// How a request is answered.
    enum Answer: Sendable {
        /// With the stream.
        case sound
        /// Not at all: the connection is refused.
        case refused
        /// With a connection, and then nothing.
        case silence
        /// With a status and an empty body.
        case status(Int)
        /// With a playlist of these addresses.
        case playlist([String])
    }

    struct State: Sendable {
        var answer: @Sendable (_ time: Double, _ request: Int) -> Answer = { _, _ in .sound }
        /// Bytes that a new connection gets at once.
        var burst = 64_000
        /// Times the speed of sound.
        var speed = 1.0
        /// Seconds after which a connection gets no more, or is closed.
        var stallsAfter: Double?
        var closesAfter: Double?
        var metaInterval: Int?
        /// What the head says instead.
        var statedInterval: Int?
        var title: @Sendable (_ time: Double) -> String = { _ in "" }
        /// A file, which ends.
        var isFile = false
        var ignoresRanges = false
        /// The untrue length of a station without a name.
        var statedLength: Int64?
        var contentType = "audio/mpeg"
        var requests: [RadioRequest] = []
        /// When each request was made.
        var requestTimes: [Double] = []
        /// Changes the state for one request.
        var adapt: @Sendable (_ request: Int, _ state: inout State) -> Void = { _, _ in }
        /// Whether nothing comes although there is a connection; the due bytes come afterwards.
        var isStalled: @Sendable (_ time: Double) -> Bool = { _ in false }
        /// Whether the server is down, and cuts the connections that there are.
        var isDown: @Sendable (_ time: Double) -> Bool = { _ in false }
    }

    let clip: [UInt8]
    let byteRate: Double
    let clock: VirtualClock
    let start: MediaTime
    let state = Locked(State())

    init(clip: [UInt8], bitrate: Int, clock: VirtualClock) {
        self.clip = clip
        byteRate = Double(bitrate) / 8
        self.clock = clock
        start = clock.now
    }

    /// Seconds since the beginning.
    var time: Double { (clock.now - start).seconds }

    func configure(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
}

/// The transport to a virtual server.
final class VirtualTransport: RadioTransport {
    var onBody: (UnsafeRawBufferPointer) -> Bool = { _ in false }
    var bodyRoom: () -> Int = { .max }
    private(set) var response = RadioResponse()
    private(set) var end: TransferEnd?
    private(set) var isConnected = false
    private(set) var isBodyHeld = false
    private(set) var bytesReceived: UInt64 = 0

    private let server: VirtualServer
    private var state = VirtualServer.State()
    private var began = 0.0
    private var answer = VirtualServer.Answer.refused
    private var sent = 0
    private var offset = 0
    private var isActive = false
    private var soundLeft = 0
    /// Bytes of a metadata block that are still to be sent.
    private var block: [UInt8] = []
    private var lastTitle = ""

    init(_ server: VirtualServer) { self.server = server }

    func begin(_ request: RadioRequest) throws(RadioError) {
        let number = server.state.withLock { state in
            state.requests.append(request)
            state.requestTimes.append(server.time)
            return state.requests.count - 1
        }
        state = server.state.withLock { $0 }
        let adapt = state.adapt
        adapt(number, &state)
        began = server.time
        answer = state.isDown(began) ? .refused : state.answer(began, number)
        end = nil
        sent = 0
        isBodyHeld = false
        isActive = true
        response = RadioResponse()
        response.contentType = state.contentType
        offset = 0
        if state.isFile {
            offset = state.ignoresRanges ? 0 : Int(request.offset)
            if offset > 0 { response.status = 206 }
            response.contentLength = Int64(server.clip.count - offset)
        } else {
            // In the middle of a frame, as a station does.
            offset = (number * 7919) % server.clip.count
        }
        soundLeft = request.wantsMetadata ? state.metaInterval ?? 0 : 0
        block = []
        lastTitle = ""
        if soundLeft > 0 { response.fields = [("icy-metaint", Array("\(state.statedInterval ?? soundLeft)".utf8))] }
        response.fields.append(("icy-name", Array("Virtual".utf8)))
        if state.isFile { response.fields = [] }
        if case .status(let status) = answer {
            response.status = status
            response.statusText = "\(status)"
        }
        if let length = state.statedLength {
            response.fields = []
            response.contentLength = length
        }
        if case .playlist = answer { response.contentType = "audio/x-mpegurl" }
    }

    func cancel() { isActive = false }

    func resumeBody() { isBodyHeld = false }

    func work() {
        guard isActive, end == nil, !isBodyHeld else { return }
        let elapsed = server.time - began
        switch answer {
        case .refused: return fail("refused")
        case .status: end = .complete
        case .silence: isConnected = true
        case .playlist(let entries):
            isConnected = true
            _ = Array(entries.joined(separator: "\n").utf8).withUnsafeBytes { onBody($0) }
            end = .complete
        case .sound:
            isConnected = true
            if state.isDown(server.time) { return fail("cut") }
            if state.isStalled(server.time) { return }
            let sending = min(elapsed, state.stallsAfter ?? .infinity)
            var due = state.burst + Int(sending * server.byteRate * state.speed)
            if state.isFile { due = min(due, server.clip.count - offset) }
            while sent < due, end == nil, send(min(4096, due - sent)) {}
            if state.isFile, sent == server.clip.count - offset { end = .complete }
            guard let limit = state.closesAfter, elapsed >= limit else { return }
            // Below the stated length the connection was cut.
            if state.statedLength == nil { end = .complete } else { fail("cut") }
        }
    }

    private func fail(_ reason: String) {
        end = .failed(RadioError(.networkConnectionFailed, operation: "connect", message: "The server has \(reason)."))
    }

    /// Sends up to `limit` bytes of the body; false when they are not wanted.
    private func send(_ limit: Int) -> Bool {
        // With room for a block of metadata.
        guard bodyRoom() >= limit + 300 else {
            isBodyHeld = true
            return false
        }
        var bytes: [UInt8] = []
        let interval = state.isFile ? 0 : soundInterval
        while bytes.count < limit {
            if !block.isEmpty {
                bytes += block
                block = []
            }
            let position = (offset + sent) % server.clip.count
            var count = min(limit - bytes.count, server.clip.count - position)
            if interval > 0 { count = min(count, soundLeft) }
            guard count > 0 else { break }
            bytes += server.clip[position..<(position + count)]
            sent += count
            if interval > 0 {
                soundLeft -= count
                if soundLeft == 0 {
                    soundLeft = interval
                    block = metadata()
                }
            }
        }
        bytesReceived += UInt64(bytes.count)
        guard bytes.withUnsafeBytes({ onBody($0) }) else {
            fail("been hung up on")
            return false
        }
        return true
    }

    private var soundInterval: Int {
        response.fields.contains { $0.name == "icy-metaint" } ? state.metaInterval ?? 0 : 0
    }

    private func metadata() -> [UInt8] {
        let title = state.title(server.time)
        guard title != lastTitle else { return [0] }
        lastTitle = title
        let text = Array("StreamTitle='\(title)';".utf8)
        let units = (text.count + 15) / 16
        return [UInt8(units)] + text + [UInt8](repeating: 0, count: units * 16 - text.count)
    }

    func wait(until deadline: MediaTime, stop: Int32, event: ManualResetEvent?) {
        let limit = min(deadline, server.clock.now.advanced(by: .milliseconds(50)))
        server.clock.wait(until: limit, or: event ?? ManualResetEvent())
    }
}
