public import VideoCapturing

/// Checks the contract of `VideoCapture`.
public typealias ConformanceSuite = CaptureConformanceSuite<PictureMedium>

/// Captures of pictures.
public enum PictureMedium: ConformanceMedium {
    public static func life(of capture: any VideoCapture) -> any CaptureLifeCycle { capture }

    /// The rules of the contract, in its order.
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
        // Frames
        case monotonicClock, timestampsIncrease, timestampsOverRestarts
        case sequenceIncreases, gapsAreCounted
        case planesFit, trueFormat, trueColor, trueFrameRate, keptFramesStay
        // States
        case legalStates, everyStreamSeesAll, streamEnds, firstErrorWins
        // Members
        case consumerIsWeak, consumerSwap, withoutConsumer, contentHintIsKept
        case isStartedAgreesWithState, settingsAreStable, wantsInAnyState, statisticsCount
        case givesBackDevice

        /// The words of the contract that the rule checks.
        public var sentence: String {
            switch self {
            case .lifeInOrder: "init → (start → stop)* → release."
            case .startBlocksUntilStreaming:
                "Begins to deliver frames. Blocks until the device streams or has refused."
            case .releaseLeadsToIdle: "After release the capture is idle and may be initialized again."
            case .startBeforeInit, .startAfterRelease, .stopBeforeInit:
                "A start before init, or after release, throws `invalidState`, and so does a stop before init."
            case .repeatedInit, .repeatedStart, .repeatedStop, .repeatedRelease:
                "Repeated calls of init, start, stop and release are harmless."
            case .releaseStopsFirst: "Release while running stops first."
            case .restart, .restartAfterOwnEnd, .quickRestarts:
                "A capture can be restarted after it was stopped, or after it stopped on its own account, any number of times."
            case .anyThread:
                "Every member may be used from any thread, except that init, start and release must not be called from inside `consumeFrame`."
            case .serialDelivery, .ownThread, .notMainThread, .notCooperativePool:
                "Frames are delivered one at a time, on the capture's own thread, never on the main thread and never on the cooperative pool."
            case .stopEndsDelivery, .stopByManyThreads:
                "When ``stopCapture()`` has returned, no call of the consumer is running and none will come."
            case .stopIsPrompt: "Ends the delivery of frames and stops streaming."
            case .stopInsideConsumer:
                "It may be called from inside `consumeFrame`; there it takes effect once that call returns."
            case .monotonicClock, .timestampsIncrease, .timestampsOverRestarts:
                "Timestamps are of the monotonic clock, strictly increase, and go on increasing over restarts."
            case .sequenceIncreases, .gapsAreCounted:
                "Sequence numbers increase; they skip by the number of lost frames."
            case .planesFit, .trueFormat, .trueColor:
                "Each frame is complete: planes and strides fit the buffer, size, pixel format and color are true."
            case .trueFrameRate: "The rate measured over the last frames; nil until there are two."
            case .keptFramesStay: "Store the value to keep a frame: it stays valid, and nothing is copied."
            case .legalStates, .everyStreamSeesAll:
                "Every change is seen by every ``stateChanges()`` stream, in order, none left out."
            case .streamEnds:
                "A new stream of all changes of state from now on. It ends when the capture is destroyed."
            case .firstErrorWins: "The first error wins; a restart clears it."
            case .consumerIsWeak: "Where frames go; held weakly."
            case .consumerSwap: "Set before start; a change while running takes effect with the next frame."
            case .withoutConsumer: "Frames without a consumer are dropped and counted."
            case .contentHintIsKept: "What kind of pictures these are; the capture's own default until it is set."
            case .isStartedAgreesWithState:
                "Whether frames are being delivered or are about to be: starting, running or interrupted."
            case .settingsAreStable: "The settings that will be delivered; before init the requested ones."
            case .wantsInAnyState:
                "Takes what the consumers can use, from the next frame on. May be called in any state."
            case .statisticsCount: "The statistics since init."
            case .givesBackDevice: "Stops if necessary, and releases the device."
            }
        }
    }

    public static func check(_ rule: Rule, in trial: ConformanceTrial<Self>) throws {
        switch rule {
        case .lifeInOrder: try trial.checkLifeInOrder()
        case .startBlocksUntilStreaming: try trial.checkStartBlocksUntilStreaming()
        case .releaseLeadsToIdle: try trial.checkReleaseLeadsToIdle()
        case .startBeforeInit: try trial.checkStartBeforeInit()
        case .startAfterRelease: try trial.checkStartAfterRelease()
        case .stopBeforeInit: try trial.checkStopBeforeInit()
        case .repeatedInit: try trial.checkRepeatedInit()
        case .repeatedStart: try trial.checkRepeatedStart()
        case .repeatedStop: try trial.checkRepeatedStop()
        case .repeatedRelease: try trial.checkRepeatedRelease()
        case .releaseStopsFirst: try trial.checkReleaseStopsFirst()
        case .restart: try trial.checkRestart()
        case .restartAfterOwnEnd: try trial.checkRestartAfterOwnEnd()
        case .quickRestarts: try trial.checkQuickRestarts()
        case .anyThread: try trial.checkAnyThread()
        case .serialDelivery: try trial.checkSerialDelivery()
        case .ownThread: try trial.checkOwnThread()
        case .notMainThread: try trial.checkNotMainThread()
        case .notCooperativePool: try trial.checkNotCooperativePool()
        case .stopEndsDelivery: try trial.checkStopEndsDelivery()
        case .stopByManyThreads: try trial.checkStopByManyThreads()
        case .stopIsPrompt: try trial.checkStopIsPrompt()
        case .stopInsideConsumer: try trial.checkStopInsideConsumer()
        case .monotonicClock: try trial.checkMonotonicClock()
        case .timestampsIncrease: try trial.checkTimestampsIncrease()
        case .timestampsOverRestarts: try trial.checkTimestampsOverRestarts()
        case .sequenceIncreases: try trial.checkSequenceIncreases()
        case .gapsAreCounted: try trial.checkGapsAreCounted()
        case .planesFit: try trial.checkPlanesFit()
        case .trueFormat: try trial.checkTrueFormat()
        case .trueColor: try trial.checkTrueColor()
        case .trueFrameRate: try trial.checkTrueFrameRate()
        case .keptFramesStay: try trial.checkKeptFramesStay()
        case .legalStates: try trial.checkLegalStates()
        case .everyStreamSeesAll: try trial.checkEveryStreamSeesAll()
        case .streamEnds: try trial.checkStreamEnds()
        case .firstErrorWins: try trial.checkFirstErrorWins()
        case .consumerIsWeak: try trial.checkConsumerIsWeak()
        case .consumerSwap: try trial.checkConsumerSwap()
        case .withoutConsumer: try trial.checkWithoutConsumer()
        case .contentHintIsKept: try trial.checkContentHintIsKept()
        case .isStartedAgreesWithState: try trial.checkIsStartedAgreesWithState()
        case .settingsAreStable: try trial.checkSettingsAreStable()
        case .wantsInAnyState: try trial.checkWantsInAnyState()
        case .statisticsCount: try trial.checkStatisticsCount()
        case .givesBackDevice: try trial.checkGivesBackDevice()
        }
    }
}
