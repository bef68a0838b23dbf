import Testing
import VideoCapturing

@Suite struct CaptureStateMachineTests {
    @Test func tellsEveryStreamEveryChange() async {
        var machine: CaptureStateMachine? = CaptureStateMachine()
        let first = machine!.changes()
        machine!.transition(to: .initialized, reason: .requested)
        // No change, so nothing to tell.
        machine!.transition(to: .initialized, reason: .source)
        let second = machine!.changes()
        machine!.transition(to: .starting, reason: .requested)
        #expect(machine!.state == .starting)
        machine = nil
        var seen: [CaptureState.Change] = []
        for await change in first { seen.append(change) }
        #expect(
            seen == [
                CaptureState.Change(old: .idle, new: .initialized, reason: .requested),
                CaptureState.Change(old: .initialized, new: .starting, reason: .requested),
            ])
        var later: [CaptureState.Change] = []
        for await change in second { later.append(change) }
        #expect(later == [seen[1]])
    }

    @Test func leftStreamsAreForgotten() async {
        let machine = CaptureStateMachine()
        do { _ = machine.changes() }
        let stream = machine.changes()
        let reader = Task { for await _ in stream {} }
        reader.cancel()
        await reader.value
        machine.transition(to: .initialized, reason: .requested)
        #expect(machine.state == .initialized)
    }

    /// To cancel a task holds a lock of the task, which a stream needs to wake it up: neither may wait for the other.
    @Test func aTaskThatIsCancelledDuringAChangeStopsNothing() async throws {
        let machine = CaptureStateMachine()
        let roundsDone = Locked(0)
        try CaptureThread(name: "cancels") {
            for _ in 1...500 {
                let readers = (1...8).map { _ in
                    let changes = machine.changes()
                    return Task { for await _ in changes {} }
                }
                let changing = try? CaptureThread(name: "changes") {
                    for _ in 1...8 {
                        machine.transition(to: .initialized, reason: .requested)
                        machine.transition(to: .idle, reason: .requested)
                    }
                }
                for reader in readers { reader.cancel() }
                changing?.join()
                roundsDone.withLock { $0 += 1 }
            }
        }
        let limit = MonotonicClock().now.advanced(by: .seconds(60))
        while roundsDone.withLock({ $0 }) < 500, MonotonicClock().now < limit {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(roundsDone.withLock { $0 } == 500)
    }
}
