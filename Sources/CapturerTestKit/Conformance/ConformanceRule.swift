extension ConformanceSuite {
    /// The rules of the contract, in its order.
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
}

extension ConformanceTrial {
    /// Finds the check of a rule.
    func apply(_ rule: ConformanceSuite.Rule) throws {
        switch rule {
        case .lifeInOrder: try checkLifeInOrder()
        case .startBlocksUntilStreaming: try checkStartBlocksUntilStreaming()
        case .releaseLeadsToIdle: try checkReleaseLeadsToIdle()
        case .startBeforeInit: try checkStartBeforeInit()
        case .startAfterRelease: try checkStartAfterRelease()
        case .stopBeforeInit: try checkStopBeforeInit()
        case .repeatedInit: try checkRepeatedInit()
        case .repeatedStart: try checkRepeatedStart()
        case .repeatedStop: try checkRepeatedStop()
        case .repeatedRelease: try checkRepeatedRelease()
        case .releaseStopsFirst: try checkReleaseStopsFirst()
        case .restart: try checkRestart()
        case .restartAfterOwnEnd: try checkRestartAfterOwnEnd()
        case .quickRestarts: try checkQuickRestarts()
        case .anyThread: try checkAnyThread()
        case .serialDelivery: try checkSerialDelivery()
        case .ownThread: try checkOwnThread()
        case .notMainThread: try checkNotMainThread()
        case .notCooperativePool: try checkNotCooperativePool()
        case .stopEndsDelivery: try checkStopEndsDelivery()
        case .stopByManyThreads: try checkStopByManyThreads()
        case .stopIsPrompt: try checkStopIsPrompt()
        case .stopInsideConsumer: try checkStopInsideConsumer()
        case .monotonicClock: try checkMonotonicClock()
        case .timestampsIncrease: try checkTimestampsIncrease()
        case .timestampsOverRestarts: try checkTimestampsOverRestarts()
        case .sequenceIncreases: try checkSequenceIncreases()
        case .gapsAreCounted: try checkGapsAreCounted()
        case .planesFit: try checkPlanesFit()
        case .trueFormat: try checkTrueFormat()
        case .trueColor: try checkTrueColor()
        case .trueFrameRate: try checkTrueFrameRate()
        case .keptFramesStay: try checkKeptFramesStay()
        case .legalStates: try checkLegalStates()
        case .everyStreamSeesAll: try checkEveryStreamSeesAll()
        case .streamEnds: try checkStreamEnds()
        case .firstErrorWins: try checkFirstErrorWins()
        case .consumerIsWeak: try checkConsumerIsWeak()
        case .consumerSwap: try checkConsumerSwap()
        case .withoutConsumer: try checkWithoutConsumer()
        case .contentHintIsKept: try checkContentHintIsKept()
        case .isStartedAgreesWithState: try checkIsStartedAgreesWithState()
        case .settingsAreStable: try checkSettingsAreStable()
        case .wantsInAnyState: try checkWantsInAnyState()
        case .statisticsCount: try checkStatisticsCount()
        case .givesBackDevice: try checkGivesBackDevice()
        }
    }
}
