import VideoCapturing

/// Checks the contract of `PacketSink` against any sink.
///
/// ```swift
/// let suite = PacketSinkSuite(tracks: [track], refused: [jpegTrack]) {
///     PacketSinkSuite.Trial(sink: try WebMWriter(OutputFile(path: path))) { try countPackets(path) }
/// }
/// #expect(suite.run().isEmpty)
/// ```
public struct PacketSinkSuite: Sendable {
    /// A new sink, and a way to count the packets that have arrived where it writes to.
    public struct Trial: Sendable {
        let sink: any PacketSink
        let countPackets: @Sendable () throws -> Int

        /// - Parameters:
        ///   - sink: a new sink.
        ///   - countPackets: reads the output, once the sink has finished.
        public init(sink: any PacketSink, countPackets: @escaping @Sendable () throws -> Int) {
            self.sink = sink
            self.countPackets = countPackets
        }
    }

    /// The rules of the contract, in its order.
    public enum Rule: String, Sendable, Hashable, CaseIterable {
        // Order
        case finishWithoutPackets, finishWithoutBegin, repeatedFinish, nothingAfterFinish
        // Threads
        case anyThread
        // Packets
        case everyPacketArrives, unknownTrack, packetsStay
        // Errors
        case refusesWhatItCannotCarry

        /// The words of the contract that the rule checks.
        public var sentence: String {
            switch self {
            case .finishWithoutPackets, .finishWithoutBegin:
                "``finish()`` comes once, last, also after a failure of the others and without packets."
            case .repeatedFinish: "a repeated ``finish()`` does nothing."
            case .nothingAfterFinish: "A sink that has finished takes no more"
            case .anyThread: "Calls come from any thread, one at a time."
            case .everyPacketArrives: "writes what is still to be written, and closes."
            case .unknownTrack: "Each names a track of ``begin(_:)``."
            case .packetsStay: "Keep the value to keep the packet."
            case .refusesWhatItCannotCarry:
                "``begin(_:)`` refuses with a typed error what the sink cannot carry, before it has written anything."
            }
        }
    }

    /// A rule that a sink breaks.
    public struct Failure: Sendable, CustomStringConvertible {
        /// The rule.
        public var rule: Rule
        /// The observation, as a sentence.
        public var reason: String

        /// The rule, the observation, and the words of the contract.
        public var description: String { "\(rule.rawValue): \(reason)\n    “\(rule.sentence)”" }
    }

    private let tracks: [TrackDescription]
    private let refused: [TrackDescription]
    private let makePacket: @Sendable (TrackDescription, Int) -> MediaPacket
    private let makeTrial: @Sendable () throws -> Trial

    /// - Parameters:
    ///   - tracks: what the sink carries.
    ///   - refused: tracks of which it can carry none; empty where it takes anything.
    ///   - makePacket: the packet of a number from 0 of a track; nil for bytes without a picture, 40 ms apart.
    ///   - makeTrial: makes a new sink with a separate output.
    public init(
        tracks: [TrackDescription], refused: [TrackDescription] = [],
        makePacket: (@Sendable (TrackDescription, Int) -> MediaPacket)? = nil,
        makeTrial: @escaping @Sendable () throws -> Trial
    ) {
        self.tracks = tracks
        self.refused = refused
        self.makePacket = makePacket ?? { Self.samplePacket($0, $1) }
        self.makeTrial = makeTrial
    }

    /// Checks all rules, and returns those that are broken. Blocks; not to be called on the cooperative pool.
    public func run() -> [Failure] {
        Rule.allCases.compactMap { rule in
            do {
                try check(rule)
                return nil
            } catch Finding.broken(let reason) {
                return Failure(rule: rule, reason: reason)
            } catch {
                return Failure(rule: rule, reason: "It threw: \(error)")
            }
        }
    }

    private func check(_ rule: Rule) throws {
        let trial = try makeTrial()
        let sink = trial.sink
        switch rule {
        case .finishWithoutPackets:
            try sink.begin(tracks)
            try sink.finish()
        case .finishWithoutBegin:
            try sink.finish()
        case .repeatedFinish:
            try write(10, to: sink)
            try sink.finish()
            try sink.finish()
            try requireCount(10, trial)
        case .nothingAfterFinish:
            try write(10, to: sink)
            try sink.finish()
            for track in tracks { try? sink.write(makePacket(track, 10)) }
            try? sink.finish()
            try requireCount(10, trial)
        case .anyThread:
            try onThread { try sink.begin(tracks) }
            for number in 0..<10 {
                try onThread { for track in tracks { try sink.write(makePacket(track, number)) } }
            }
            try onThread { try sink.finish() }
            try requireCount(10, trial)
        case .everyPacketArrives:
            try write(100, to: sink)
            try sink.finish()
            try requireCount(100, trial)
        case .unknownTrack:
            try write(10, to: sink)
            var stranger = makePacket(tracks[0], 10)
            stranger.track = TrackID(rawValue: (tracks.map(\.id.rawValue).max() ?? 0) + 1)
            let isRefused = (try? sink.write(stranger)) == nil
            try sink.finish()
            let count = try trial.countPackets()
            try require(
                count == 10 * tracks.count || !isRefused && count == 10 * tracks.count + 1,
                "After a packet of an unknown track there were \(count) packets.")
        case .packetsStay:
            let packet = makePacket(tracks[0], 0)
            let before = packet.data.withUnsafeBytes { Array($0) }
            try sink.begin(tracks)
            try sink.write(packet)
            try sink.finish()
            try require(before == packet.data.withUnsafeBytes { Array($0) }, "The packet's bytes have changed.")
        case .refusesWhatItCannotCarry:
            try checkRefusals()
        }
    }

    private func checkRefusals() throws {
        for track in refused {
            let trial = try makeTrial()
            do {
                try trial.sink.begin([track])
            } catch {
                try require(isFormatError(error), "It refused \(track.codec) with \(error).")
                try? trial.sink.finish()
                let count = (try? trial.countPackets()) ?? 0
                try require(count == 0, "It refused \(track.codec), and had written \(count) packets.")
                continue
            }
            throw Finding.broken("It took \(track.codec).")
        }
    }

    private func isFormatError(_ error: any Error) -> Bool {
        // The typed errors of this project's modules have a code of that name; other modules may have theirs.
        if let error = error as? CaptureError { return error.code == .formatUnsupported }
        return "\(Mirror(reflecting: error).children.first { $0.label == "code" }?.value ?? error)"
            .contains("formatUnsupported")
    }

    private func write(_ count: Int, to sink: any PacketSink) throws {
        try sink.begin(tracks)
        for number in 0..<count {
            for track in tracks { try sink.write(makePacket(track, number)) }
        }
    }

    private func requireCount(_ count: Int, _ trial: Trial) throws {
        let found = try trial.countPackets()
        let expected = count * tracks.count
        try require(found == expected, "Of \(expected) packets there were \(found).")
    }

    /// Runs `body` on a separate thread.
    private func onThread(_ body: @escaping @Sendable () throws -> Void) throws {
        let outcome = Locked<Result<Void, any Error>?>(nil)
        try CaptureThread(name: "sink test") {
            let result = Result { try body() }
            outcome.withLock { $0 = result }
        }.join()
        try outcome.withLock { $0 }!.get()
    }

    private static func samplePacket(_ track: TrackDescription, _ number: Int) -> MediaPacket {
        var size = (width: 0, height: 0)
        if case .video(let video) = track.media { size = (video.width, video.height) }
        let bytes = (0..<(50 + number % 30)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
        return MediaPacket(
            data: bytes.withUnsafeBytes { PacketBuffer(copying: $0) }, track: track.id,
            timestamp: MediaTime(nanoseconds: 5_000_000_000 + Int64(number) * 40_000_000), duration: .milliseconds(40),
            isKeyFrame: number % 10 == 0, width: size.width, height: size.height, sequenceNumber: UInt64(number))
    }
}
