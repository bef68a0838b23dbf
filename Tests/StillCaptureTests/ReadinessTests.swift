import CapturerTestKit
import Testing
import VideoCapturing

@testable import StillCapture

@Suite struct ReadinessTests {
    @Test func theLimitIsSeen() async throws {
        let rig = Rig(StillCapture.Configuration(outstandingLimit: 2))
        #expect(rig.stills.readiness == .notRunning)
        try rig.feed()
        // The first frame says that the capture runs; what follows from it needs a request.
        rig.clock.advance(by: .milliseconds(1))
        let later = Still.Settings(allowsEarlierFrames: false)
        let first = await rig.begin(later)
        let second = await rig.begin(later)
        #expect(rig.stills.readiness == .waitingForCapture)
        try rig.feed()
        _ = try await (first.value, second.value)
        #expect(rig.stills.readiness == .ready)
        var reader = BurstReader(rig.stills.burst(count: 2))
        try rig.feed()
        try rig.feed()
        // They were made, but have not been read.
        #expect(rig.stills.readiness == .waitingForProcessing)
        _ = try await reader.stills(2)
        #expect(rig.stills.readiness == .ready)
    }

    @Test func changesAreToldOnceEach() async throws {
        var rig: Rig? = Rig(StillCapture.Configuration(outstandingLimit: 1))
        var changes = rig!.stills.readinessChanges().makeAsyncIterator()
        #expect(await changes.next() == .notRunning)
        try rig!.feed()
        #expect(await changes.next() == .ready)
        rig!.clock.advance(by: .milliseconds(1))
        do {
            let request = await rig!.begin(Still.Settings(allowsEarlierFrames: false))
            #expect(await changes.next() == .waitingForCapture)
            try rig!.feed()
            _ = try await request.value
        }
        var last: StillCapture.Readiness?
        repeat { last = await changes.next() } while last == .waitingForProcessing
        #expect(last == .ready)
        rig = nil
        #expect(await changes.next() == .notRunning)
        #expect(await changes.next() == nil)
    }
}
