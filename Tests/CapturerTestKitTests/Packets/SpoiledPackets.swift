import CapturerTestKit
import PacketCapturing
import TestTools

/// One way each to break what the contract says of packets alone.
enum PacketFlaw: String, CaseIterable {
    case hasNoConfiguration, sharesIdentifiers, namesUnknownTrack, emptyPackets
    case decodesBackwards, presentsTooEarly, numbersBeginAgain, hidesGaps, goesOnWithoutKeyFrame
    case hasLengths, leavesOutParameterSets, changesKeptPackets
    case flickeringSettings, holdsConsumer, livesOn

    /// The rule that must catch it.
    var rule: PacketConformanceSuite.Rule {
        switch self {
        case .hasNoConfiguration, .sharesIdentifiers: .tracksAreDescribed
        case .namesUnknownTrack, .emptyPackets: .packetsFit
        case .decodesBackwards: .decodeTimesIncrease
        case .presentsTooEarly: .presentedAfterDecoding
        case .numbersBeginAgain: .numbersIncrease
        case .hidesGaps: .lossesAreCounted
        case .goesOnWithoutKeyFrame: .lossesEndAtKeyFrames
        case .hasLengths, .leavesOutParameterSets: .byteStreams
        case .changesKeptPackets: .keptPacketsStay
        case .flickeringSettings: .settingsAreTrue
        case .holdsConsumer: .consumerIsWeak
        case .livesOn: .givesBackDevice
        }
    }
}

/// What a flaw keeps alive.
private let alive = Locked<[SpoiledPackets]>([])

/// A packet capture that works, but for one flaw.
final class SpoiledPackets: PacketCapture {
    private let flaw: PacketFlaw
    private let inner = PacketSourceCapturer(TestPackets(lossEvery: 13))
    private let inlet: Inlet
    private let strong = Locked<(any PacketCaptureConsumer)?>(nil)
    private let reads = Locked(0)

    init(_ flaw: PacketFlaw) {
        self.flaw = flaw
        inlet = Inlet(flaw)
        if flaw == .livesOn { alive.withLock { $0.append(self) } }
    }

    var packetCaptureConsumer: (any PacketCaptureConsumer)? {
        get { inlet.outer }
        set {
            if flaw == .holdsConsumer { strong.withLock { $0 = newValue } }
            inlet.outer = newValue
            inner.packetCaptureConsumer = newValue == nil ? nil : inlet
        }
    }

    func initCapture() throws(CaptureError) { try inner.initCapture() }

    func startCapture() throws(CaptureError) {
        inlet.beginStart()
        try inner.startCapture()
    }

    func stopCapture() throws(CaptureError) { try inner.stopCapture() }
    func releaseCapture() { inner.releaseCapture() }
    var isCaptureStarted: Bool { inner.isCaptureStarted }
    func requestKeyFrame() -> Bool { inner.requestKeyFrame() }

    func captureSettings() -> PacketSettings {
        var settings = inner.captureSettings()
        switch flaw {
        case .hasNoConfiguration: settings.tracks[0].decoderConfiguration = nil
        case .sharesIdentifiers: settings.tracks[1].id = settings.tracks[0].id
        case .flickeringSettings:
            settings.sourceName = reads.withLock { reads in
                reads += 1
                return "read \(reads) times"
            }
        default: break
        }
        return settings
    }

    var state: CaptureState { inner.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { inner.stateChanges() }
    var statistics: PacketStatistics { inner.statistics }

    /// Spoils packets.
    private final class Inlet: PacketCaptureConsumer {
        private struct Contents {
            weak var outer: (any PacketCaptureConsumer)?
            var packetsInStart: UInt64 = 0
            var first: PacketBuffer?
        }

        private let flaw: PacketFlaw
        private let contents = Locked(Contents())

        init(_ flaw: PacketFlaw) { self.flaw = flaw }

        var outer: (any PacketCaptureConsumer)? {
            get { contents.withLock { $0.outer } }
            set { contents.withLock { $0.outer = newValue } }
        }

        func beginStart() { contents.withLock { $0.packetsInStart = 0 } }

        func consumePacket(_ packet: MediaPacket) {
            var packet = packet
            let (number, first, outer) = contents.withLock { contents in
                contents.packetsInStart += 1
                let first = contents.first ?? packet.data
                contents.first = first
                return (contents.packetsInStart, first, contents.outer)
            }
            switch flaw {
            case .namesUnknownTrack where number == 4: packet.track = 7
            case .emptyPackets where number == 4: packet.data = buffer([])
            case .decodesBackwards where number % 5 == 0: packet.decodeTimestamp = packet.timestamp - .seconds(1)
            case .presentsTooEarly where number == 3:
                packet.decodeTimestamp = packet.timestamp + .milliseconds(1)
            case .numbersBeginAgain: packet.sequenceNumber = number
            case .hidesGaps: packet.sequenceNumber *= 2
            case .goesOnWithoutKeyFrame where packet.isKeyFrame && packet.track == TestPackets.video:
                // The picture before it seems lost, and the next one is taken for a key frame in its place.
                packet.isKeyFrame = false
            case .hasLengths where packet.track == TestPackets.video: packet.data = buffer([0, 0, 0, 2, 0x41, 9])
            case .leavesOutParameterSets where packet.isKeyFrame && packet.track == TestPackets.video:
                packet.data = buffer([0, 0, 0, 1, 0x65, 9])
            case .changesKeptPackets where number > 20:
                first.withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(mutating: bytes)[0] = UInt8(truncatingIfNeeded: 100 + number)
                }
            default: break
            }
            outer?.consumePacket(packet)
        }

        private func buffer(_ bytes: [UInt8]) -> PacketBuffer { bytes.withUnsafeBytes { PacketBuffer(copying: $0) } }
    }
}
