import PacketCapturing
import VideoCapturing

extension PacketConformanceSuite {
    /// The rules of the contract, in its order. Those that the contract of pictures has too have its names.
    public enum Rule: String, Sendable, Hashable, CaseIterable {
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
            default: ConformanceSuite.Rule(rawValue: rawValue)?.sentence.inWordsOfPackets ?? rawValue
            }
        }
    }
}

extension PacketTrial {
    /// Finds the check of a rule.
    func apply(_ rule: PacketConformanceSuite.Rule) throws {
        switch rule {
        case .tracksAreDescribed: try checkTracksAreDescribed()
        case .packetsFit: try checkPacketsFit()
        case .decodeTimesIncrease: try checkDecodeTimesIncrease()
        case .presentedAfterDecoding: try checkPresentedAfterDecoding()
        case .numbersIncrease: try checkNumbersIncrease()
        case .lossesAreCounted: try checkLossesAreCounted()
        case .lossesEndAtKeyFrames: try checkLossesEndAtKeyFrames()
        case .byteStreams: try checkByteStreams()
        case .keptPacketsStay: try checkKeptPacketsStay()
        case .settingsAreTrue: try checkSettingsAreTrue()
        case .consumerIsWeak: try checkConsumerIsWeak()
        case .givesBackDevice: try checkIsDestroyed()
        default: throw Finding.broken("No check is written for \(rule.rawValue).")
        }
    }
}
