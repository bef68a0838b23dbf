public import AudioCapturing
import VideoCapturing

/// Checks the contract of `AudioCapture`. The suite for pictures checks the sentences that both contracts share.
///
/// ```swift
/// let suite = AudioConformanceSuite(name: "tone") { ToneCapturer() }
/// ```
public typealias AudioConformanceSuite = CaptureConformanceSuite<SoundMedium>

/// Captures of sound.
public enum SoundMedium: ConformanceMedium {
    public static func life(of capture: any AudioCapture) -> any CaptureLifeCycle { capture }

    /// Those of a sentence about frames, and those of one about sound.
    private static let words = [
        ("consumeFrame", "consumeAudio"), ("frame", "chunk"), ("Frame", "Chunk"), ("video", "audio"),
    ]

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
        // Sound
        case monotonicClock, timestampsIncrease, timestampsOverRestarts
        case numbersIncrease, lossesAreCounted, chunksContinue, startIsStated, samplesFit, keptChunksStay
        // States
        case legalStates, everyStreamSeesAll, streamEnds, firstErrorWins
        // Members
        case consumerIsWeak, consumerSwap, withoutConsumer
        case isStartedAgreesWithState, settingsAreTrue, statisticsCount, givesBackDevice

        /// The rule of pictures that checks the same; nil for one of sound alone.
        var shared: ConformanceSuite.Rule? {
            // The adapter holds the consumer for them.
            [.consumerIsWeak].contains(self) ? nil : ConformanceSuite.Rule(rawValue: rawValue)
        }

        /// The words of the contract that the rule checks.
        public var sentence: String {
            switch self {
            case .monotonicClock, .timestampsIncrease, .timestampsOverRestarts:
                "Timestamps are of the monotonic clock, strictly increase, and go on increasing over restarts."
            case .numbersIncrease, .lossesAreCounted:
                "The numbers of the frames increase over restarts too; they skip by the number of lost frames."
            case .chunksContinue:
                "A chunk without a discontinuity continues the one before: its first frame is the next one, its format is the same, and its time is the end of the one before, within 20 ms."
            case .startIsStated: "The first chunk after each start has the discontinuity `start`."
            case .samplesFit: "Each chunk has a frame at least, and its samples fill the buffer as its format says."
            case .keptChunksStay: "Store the value to keep the chunk."
            case .startBlocksUntilStreaming:
                "Begins to deliver sound. Blocks until the device streams or has refused."
            case .stopIsPrompt: "Ends the delivery of sound and stops the device's streaming."
            case .streamEnds:
                "A separate stream of all changes of state from now on. It ends when the capture is destroyed."
            case .isStartedAgreesWithState:
                "Whether sound is being delivered or is about to be: starting, running or interrupted."
            case .settingsAreTrue: "The settings that will be delivered; before init the requested ones."
            case .consumerIsWeak: "Where chunks go; held weakly."
            case .consumerSwap: "Set before start; a change while running takes effect with the next chunk."
            case .givesBackDevice: "Stops if necessary, and releases the device."
            default: ConformanceSuite.Rule(rawValue: rawValue)?.sentence.replacing(SoundMedium.words) ?? rawValue
            }
        }
    }

    public static func check(_ rule: Rule, in trial: ConformanceTrial<Self>) throws {
        if let shared = rule.shared { try trial.checkShared(shared, CaptureAsFrames.sound, words) }
        switch rule {
        case .numbersIncrease: try trial.checkNumbersIncrease()
        case .lossesAreCounted: try trial.checkLossesAreCounted()
        case .chunksContinue: try trial.checkChunksContinue()
        case .startIsStated: try trial.checkStartIsStated()
        case .samplesFit: try trial.checkSamplesFit()
        case .keptChunksStay: try trial.checkKeptChunksStay()
        case .settingsAreTrue: try trial.checkSettingsAreTrue()
        case .consumerIsWeak: try trial.checkConsumerIsWeak()
        // The adapter hides a capture that lives on.
        case .givesBackDevice: try trial.checkIsDestroyed()
        default:
            if rule.shared == nil { throw Finding.broken("No check is written for \(rule.rawValue).") }
        }
    }
}
