import AudioCapturing
import CapturerTestKit
import Testing

/// The contract on what a program pushes.
@Suite struct PushConformanceTests {
    /// A program that pushes 5 ms every 5 ms for as long as the capture lives.
    private static func pushedCapture(hasTimes: Bool, policy: QueuePolicy) throws -> PushAudioCapturer {
        let capture = PushAudioCapturer(format: mono, policy: policy)
        let buffer = try AudioBuffer(
            copying: (0..<240).map { Int16($0) }, channels: .mono, sampleRate: 48_000)
        try CaptureThread(name: "application") { [weak capture] in
            var due = MonotonicClock().now
            // No reference is held while it waits.
            while capture?.push(buffer, timestamp: hasTimes ? due : nil) != nil {
                due = due.advanced(by: .milliseconds(5))
                MonotonicClock().wait(until: due, or: ManualResetEvent())
            }
        }
        return capture
    }

    @Test(arguments: [true, false], [QueuePolicy.dropOldest, .block])
    func keepsTheContract(hasTimes: Bool, policy: QueuePolicy) async {
        let report = await AudioConformanceSuite(name: "push") {
            try Self.pushedCapture(hasTimes: hasTimes, policy: policy)
        }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }
}
