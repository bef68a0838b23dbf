import PacketCapturing

/// One check of packets under way: the captures it has made, and how far it has come.
final class PacketTrial: Sendable {
    let suite: PacketConformanceSuite
    private let made = Locked<[any PacketCapture]>([])
    private let step = Locked("making the capture")

    init(_ suite: PacketConformanceSuite) {
        self.suite = suite
    }

    /// The current step, for the report of a check that hangs.
    var currentStep: String { step.withLock { $0 } }

    func note(_ name: String) { step.withLock { $0 = name } }

    /// Runs the check, and releases what it has made whatever the outcome.
    func perform(_ rule: PacketConformanceSuite.Rule) -> ConformanceSuite.Check.Outcome {
        let outcome: ConformanceSuite.Check.Outcome
        do {
            try apply(rule)
            outcome = .passed
        } catch Finding.broken(let reason) {
            outcome = .failed(reason)
        } catch Finding.notApplicable(let reason) {
            outcome = .notApplicable(reason)
        } catch {
            outcome = .failed("While \(currentStep): \(error)")
        }
        note("giving back after the check")
        for capture in made.withLock({ $0 }) { capture.releaseCapture() }
        return outcome
    }

    /// A new capture, initialized, which is released after the check.
    func make(_ consumer: any PacketCaptureConsumer) throws -> any PacketCapture {
        note("making the capture")
        let capture = try suite.makeCapture()
        made.withLock { $0.append(capture) }
        capture.packetCaptureConsumer = consumer
        note("initCapture")
        try capture.initCapture()
        return capture
    }

    func start(_ capture: any PacketCapture) throws {
        note("startCapture")
        try capture.startCapture()
    }

    func stop(_ capture: any PacketCapture) throws {
        note("stopCapture")
        try capture.stopCapture()
    }

    /// Blocks until `count` more packets have come than `before`; false when the source came to its end first, having given
    /// at least one. Each packet may take the suite's deadline.
    @discardableResult
    func awaitPackets(_ count: Int, after before: Int = 0, of capture: any PacketCapture, at probe: PacketProbe) throws
        -> Bool
    {
        note("waiting for \(count) packets")
        var seen = probe.count
        var limit = now.advanced(by: suite.packetDeadline)
        while true {
            // The state is read first: packets that come before the end are seen after it.
            let state = capture.state
            if probe.count >= before + count { return true }
            if case .stopped(let reason) = state {
                try require(reason == .endOfStream, "It stopped on its own account: \(reason).")
                try require(probe.count > before, "The stream ended without a packet.")
                return false
            }
            if probe.count > seen {
                seen = probe.count
                limit = now.advanced(by: suite.packetDeadline)
            }
            try require(now < limit, "No packet came for \(suite.packetDeadline), after \(seen - before) of \(count).")
            pause(.milliseconds(1))
        }
    }

    /// The packets of several starts, at least `count` of each.
    func record(starts: Int, packets count: Int) throws -> (capture: any PacketCapture, starts: [[MediaPacket]]) {
        let probe = PacketProbe()
        let capture = try make(probe)
        var result: [[MediaPacket]] = []
        for _ in 0..<starts {
            let before = probe.count
            try start(capture)
            try awaitPackets(count, after: before, of: capture, at: probe)
            try stop(capture)
            result.append(Array(probe.packets.dropFirst(before)))
        }
        return (capture, result)
    }
}

/// Keeps what it is given, and does something with each.
final class PacketProbe: PacketCaptureConsumer {
    private let contents = Locked<(packets: [MediaPacket], count: Int)>(([], 0))
    private let action: (@Sendable (MediaPacket, Int) -> Void)?
    /// Beyond it packets are only counted.
    private static let limit = 4000

    /// - Parameter action: done within each call, with the number of the call from 0.
    init(action: (@Sendable (MediaPacket, Int) -> Void)? = nil) {
        self.action = action
    }

    var packets: [MediaPacket] { contents.withLock { $0.packets } }
    /// Calls that have done their work.
    var count: Int { contents.withLock { $0.count } }

    func consumePacket(_ packet: MediaPacket) {
        action?(packet, count)
        contents.withLock { contents in
            contents.count += 1
            if contents.packets.count < PacketProbe.limit { contents.packets.append(packet) }
        }
        if count > PacketProbe.limit { pause(.milliseconds(1)) }
    }
}
