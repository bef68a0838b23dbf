public import PacketCapturing
import VideoCapturing

/// Checks the contract of `PacketCapture`. The suite for pictures checks the sentences that both contracts share.
///
/// ```swift
/// let suite = PacketConformanceSuite(name: "film", timestampsMayRunAhead: true) { PacketFileCapturer(path: "film.mp4") }
/// ```
public typealias PacketConformanceSuite = CaptureConformanceSuite<PacketMedium>

/// Captures of packets.
public enum PacketMedium: ConformanceMedium {
    public static func life(of capture: any PacketCapture) -> any CaptureLifeCycle { capture }

    /// Those of a sentence about frames, and those of one about packets.
    private static let words = [("consumeFrame", "consumePacket"), ("frame", "packet"), ("Frame", "Packet")]

    /// The rules of the contract, in its order. Those that the contract of pictures has too have its names.
    public enum Rule: String, ConformanceRule {
        // Order
        case lifeInOrder, startBlocksUntilStreaming
        case releaseLeadsToIdle, startBeforeInit, startAfterRelease, stopBeforeInit
        case repeatedInit, repeatedStart, repeatedStop, repeatedRelease
        case releaseStopsFirst, restart, restartAfterOwnEnd, quickRestarts
        // Threads
        case anyThread, serialDelivery, ownThread, notMainThread, notCooperativePool
        // Stop
        case stopEndsDelivery, stopByManyThreads, stopIsPrompt, stopInsideConsumer
        // Tracks, times, losses
        case tracksAreDescribed, packetsFit
        case monotonicClock, decodeTimesIncrease, presentedAfterDecoding
        case numbersIncrease, lossesAreCounted, lossesEndAtKeyFrames, byteStreams, keptPacketsStay
        // States
        case legalStates, everyStreamSeesAll, streamEnds, firstErrorWins
        // Members
        case consumerIsWeak, consumerSwap, withoutConsumer
        case isStartedAgreesWithState, settingsAreTrue, statisticsCount, givesBackDevice

        /// The rule of pictures that checks the same; nil for one of packets alone.
        var shared: ConformanceSuite.Rule? {
            // The adapter holds the consumer for them.
            self == .consumerIsWeak ? nil : ConformanceSuite.Rule(rawValue: rawValue)
        }

        /// The words of the contract that the rule checks.
        public var sentence: String {
            switch self {
            case .tracksAreDescribed:
                "The settings describe every track once the capture is initialized, before the first packet, with all that a decoder needs besides the packets."
            case .packetsFit: "Each packet names one of these tracks, and has at least one byte."
            case .monotonicClock: "Timestamps are of the monotonic clock."
            case .decodeTimesIncrease:
                "Within a track the decode times strictly increase, and go on increasing over restarts."
            case .presentedAfterDecoding: "No packet is presented before it is decoded."
            case .numbersIncrease, .lossesAreCounted:
                "The packets of a track are numbered, and the numbers increase over restarts too; a gap is exactly as wide as the number of packets lost."
            case .lossesEndAtKeyFrames:
                "On a track of video the first packet after each start, and after each loss, is a key frame."
            case .byteStreams:
                "A packet of H.264 or H.265 is one access unit as a byte stream (annex B), with the parameter sets before each key frame."
            case .keptPacketsStay: "Keep the value to keep the packet."
            case .startBlocksUntilStreaming:
                "Begins to deliver packets. Blocks until the source streams or has refused."
            case .stopIsPrompt: "Ends the delivery of packets and stops streaming."
            case .streamEnds:
                "A separate stream of all changes of state from now on. It ends when the capture is destroyed."
            case .isStartedAgreesWithState:
                "Whether packets are being delivered or are about to be: starting, running or interrupted."
            case .settingsAreTrue: "The tracks and their source; complete after init."
            case .statisticsCount: "The counts since init."
            case .consumerIsWeak: "Where packets go; held weakly."
            case .consumerSwap:
                "Set before start; a change while running takes effect with the next packet, or with the next key frame."
            case .givesBackDevice: "Stops if need be, and returns the device."
            default: ConformanceSuite.Rule(rawValue: rawValue)?.sentence.replacing(PacketMedium.words) ?? rawValue
            }
        }
    }

    public static func check(_ rule: Rule, in trial: ConformanceTrial<Self>) throws {
        if let shared = rule.shared { try trial.checkShared(shared, CaptureAsFrames.packets, words) }
        switch rule {
        case .tracksAreDescribed: try trial.checkTracksAreDescribed()
        case .packetsFit: try trial.checkPacketsFit()
        case .decodeTimesIncrease: try trial.checkDecodeTimesIncrease()
        case .presentedAfterDecoding: try trial.checkPresentedAfterDecoding()
        case .numbersIncrease: try trial.checkNumbersIncrease()
        case .lossesAreCounted: try trial.checkLossesAreCounted()
        case .lossesEndAtKeyFrames: try trial.checkLossesEndAtKeyFrames()
        case .byteStreams: try trial.checkByteStreams()
        case .keptPacketsStay: try trial.checkKeptPacketsStay()
        case .settingsAreTrue: try trial.checkSettingsAreTrue()
        case .consumerIsWeak: try trial.checkConsumerIsWeak()
        // The adapter hides a capture that lives on.
        case .givesBackDevice: try trial.checkIsDestroyed()
        default:
            if rule.shared == nil { throw Finding.broken("No check is written for \(rule.rawValue).") }
        }
    }
}
