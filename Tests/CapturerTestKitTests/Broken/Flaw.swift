import CapturerTestKit

/// One way each to break the contract.
enum Flaw: String, CaseIterable {
    // Order
    case startsWithoutInit, acceptsStopBeforeInit, startsAfterRelease
    case secondInitThrows, secondStartThrows, secondStopThrows, secondReleaseOpens
    case startReturnsEarly, initIsSkippedInState, releaseStaysInitialized, releaseGoesOn
    case restartGivesNothing, restartAfterEndThrows, ratesDoubleAfterManyStarts
    // Threads
    case bindsToOneThread, overlapsCalls, deliversOnStarter, changesThreads, deliversOnMainThread, deliversInTask
    // Stop
    case stopReturnsEarly, secondOfTwoStopsThrows, stopIsSlow, stopInsideThrows
    // Frames
    case usesWallClock, repeatsTimestamps, timestampsBeginAnew, sequenceBeginsAnew, hidesGaps
    case unreadableRows, wrongSize, limitedRGB, wrongRate, changesKeptFrames
    // States
    case leavesOutStates, secondStreamIsEmpty, streamsNeverEnd, forgetsErrors
    // Members
    case holdsConsumer, ignoresNewConsumer, losesUncounted, forgetsHint, saysStartedWhileStopping
    case settingsFlicker, wantsBreakIt, countsNothing, threadStays, descriptorStays, livesOn

    /// The rule that must catch it.
    var rule: ConformanceSuite.Rule {
        switch self {
        case .startsWithoutInit: .startBeforeInit
        case .acceptsStopBeforeInit: .stopBeforeInit
        case .startsAfterRelease: .startAfterRelease
        case .secondInitThrows: .repeatedInit
        case .secondStartThrows: .repeatedStart
        case .secondStopThrows: .repeatedStop
        case .secondReleaseOpens: .repeatedRelease
        case .startReturnsEarly: .startBlocksUntilStreaming
        case .initIsSkippedInState: .lifeInOrder
        case .releaseStaysInitialized: .releaseLeadsToIdle
        case .releaseGoesOn: .releaseStopsFirst
        case .restartGivesNothing: .restart
        case .restartAfterEndThrows: .restartAfterOwnEnd
        case .ratesDoubleAfterManyStarts: .quickRestarts
        case .bindsToOneThread: .anyThread
        case .overlapsCalls: .serialDelivery
        case .deliversOnStarter, .changesThreads: .ownThread
        case .deliversOnMainThread: .notMainThread
        case .deliversInTask: .notCooperativePool
        case .stopReturnsEarly: .stopEndsDelivery
        case .secondOfTwoStopsThrows: .stopByManyThreads
        case .stopIsSlow: .stopIsPrompt
        case .stopInsideThrows: .stopInsideConsumer
        case .usesWallClock: .monotonicClock
        case .repeatsTimestamps: .timestampsIncrease
        case .timestampsBeginAnew: .timestampsOverRestarts
        case .sequenceBeginsAnew: .sequenceIncreases
        case .hidesGaps: .gapsAreCounted
        case .unreadableRows: .planesFit
        case .wrongSize: .trueFormat
        case .limitedRGB: .trueColor
        case .wrongRate: .trueFrameRate
        case .changesKeptFrames: .keptFramesStay
        case .leavesOutStates: .legalStates
        case .secondStreamIsEmpty: .everyStreamSeesAll
        case .streamsNeverEnd: .streamEnds
        case .forgetsErrors: .firstErrorWins
        case .holdsConsumer: .consumerIsWeak
        case .ignoresNewConsumer: .consumerSwap
        case .losesUncounted: .withoutConsumer
        case .forgetsHint: .contentHintIsKept
        case .saysStartedWhileStopping: .isStartedAgreesWithState
        case .settingsFlicker: .settingsAreStable
        case .wantsBreakIt: .wantsInAnyState
        case .countsNothing: .statisticsCount
        case .threadStays, .descriptorStays, .livesOn: .givesBackDevice
        }
    }

    /// Other rules that the same flaw breaks of necessity.
    var alsoBreaks: Set<ConformanceSuite.Rule> {
        switch self {
        // Without an end to a start or a stop, hardly anything can be relied on.
        case .startReturnsEarly, .stopReturnsEarly, .restartGivesNothing: Set(ConformanceSuite.Rule.allCases)
        // Where the main thread or the pool is busy no frames come at all.
        case .deliversOnMainThread, .deliversInTask: Set(ConformanceSuite.Rule.allCases)
        case .startsWithoutInit: [.startAfterRelease]
        case .secondStartThrows, .secondInitThrows, .secondOfTwoStopsThrows, .releaseGoesOn, .wantsBreakIt: [.anyThread]
        case .secondStopThrows: [.firstErrorWins, .isStartedAgreesWithState, .stopByManyThreads]
        case .changesThreads: [.quickRestarts, .stopInsideConsumer, .isStartedAgreesWithState]
        case .initIsSkippedInState: [.repeatedInit]
        case .releaseStaysInitialized: [.repeatedRelease, .releaseStopsFirst, .anyThread]
        case .restartAfterEndThrows: [.trueFrameRate, .keptFramesStay]
        case .bindsToOneThread: [.stopByManyThreads, .stopInsideConsumer, .isStartedAgreesWithState]
        case .deliversOnStarter: [.repeatedStart, .quickRestarts, .givesBackDevice]
        // A frame on another thread may come after the next ones.
        case .overlapsCalls:
            [.quickRestarts, .anyThread, .ownThread, .gapsAreCounted, .sequenceIncreases, .timestampsIncrease]
        case .stopIsSlow: [.quickRestarts, .stopEndsDelivery]
        case .repeatsTimestamps: [.timestampsOverRestarts]
        case .sequenceBeginsAnew, .losesUncounted: [.gapsAreCounted]
        case .threadStays:
            [.quickRestarts, .ownThread, .stopInsideConsumer, .consumerIsWeak, .isStartedAgreesWithState]
        case .livesOn: [.streamEnds]
        default: []
        }
    }
}
