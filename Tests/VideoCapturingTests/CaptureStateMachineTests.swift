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
}
