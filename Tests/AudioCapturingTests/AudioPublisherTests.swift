import AudioCapturing
import CapturerTestKit
import Testing

@Suite struct AudioPublisherTests {
    /// 10 ms whose samples are all `value`.
    private func buffer(_ value: Int16) throws -> AudioBuffer {
        try AudioBuffer(copying: [Int16](repeating: value, count: 480), channels: .mono, sampleRate: 48_000)
    }

    /// A capture to push into, started by its publisher, and the time of the next chunk.
    private func started() throws -> (PushAudioCapturer, AudioPublisher) {
        let capture = PushAudioCapturer(format: mono, queueCapacity: 64, policy: .block)
        let publisher = AudioPublisher(capture)
        return (capture, publisher)
    }

    private func first(_ chunk: AudioChunk) -> Int16 { chunk.buffer.withSamples(as: Int16.self) { $0[0] } }

    @Test func everyConsumerGetsEverything() throws {
        let (capture, publisher) = try started()
        let (one, two) = (RecordingAudioConsumer(), RecordingAudioConsumer())
        try publisher.add(one, name: "one", queue: .init(capacity: 2, policy: .block))
        try publisher.add(two, name: "two", queue: .init(capacity: 2, policy: .block))
        try publisher.start()
        let start = MonotonicClock().now
        for index in 0..<40 {
            #expect(capture.push(try buffer(Int16(index)), timestamp: start.advanced(by: .milliseconds(index * 10))))
        }
        #expect(one.waitForChunks(40))
        #expect(two.waitForChunks(40))
        try publisher.stop()
        #expect(one.chunks.map(first) == Array(0..<40))
        #expect(two.chunks.map(\.firstFrame) == (0..<40).map { $0 * 480 })
        #expect(one.chunks[1].buffer === two.chunks[1].buffer)
        let statistics = publisher.statistics
        #expect(statistics.consumers.map(\.framesDelivered) == [19_200, 19_200])
        #expect(statistics.consumers.allSatisfy { $0.framesLost.total == 0 })
        #expect(statistics.capture.framesDelivered == 19_200)
        // A stopped capture takes nothing.
        #expect(!capture.push(try buffer(0)))
    }

    /// Queues, threads and counts cost no memory for each chunk: a long stream goes through the same few buffers.
    @Test func aLongStreamUsesFewBuffers() throws {
        let seen = Locked<Set<ObjectIdentifier>>([])
        let recorder = RecyclingRecorder { chunk in seen.withLock { _ = $0.insert(ObjectIdentifier(chunk.buffer)) } }
        let count = 20_000
        let source = ScriptedSound(mono, pacing: .unpaced, Array(repeating: .chunk(frames: 480, at: nil), count: count))
        let publisher = AudioPublisher(AudioSourceCapturer(source))
        try publisher.add(recorder, queue: .init(capacity: 4, policy: .block))
        try publisher.add(LevelMeter(), queue: .init(capacity: 4, policy: .block))
        try publisher.start()
        #expect(recorder.awaitChunks(count))
        try publisher.stop()
        // Two queues of four and what is in flight.
        #expect(seen.withLock { $0.count } <= 13)
        publisher.close()
    }

    /// A live listener that is slow hears the newest, and is told exactly what it missed; a file gets all meanwhile.
    @Test func aSlowConsumerLosesItsOwnOnly() throws {
        let (capture, publisher) = try started()
        let gate = ManualResetEvent()
        let isInside = ManualResetEvent()
        let slow = AudioRecorder { _ in
            isInside.raise()
            gate.wait()
        }
        let file = RecordingAudioConsumer()
        let subscription = try publisher.add(slow, name: "slow", queue: .init(capacity: 3, policy: .dropOldest))
        try publisher.add(file, name: "file", queue: .init(capacity: 100, policy: .block))
        try publisher.start()
        let start = MonotonicClock().now
        func push(_ index: Int) throws {
            _ = capture.push(try buffer(Int16(index)), timestamp: start.advanced(by: .milliseconds(index * 10)))
        }
        try push(0)
        isInside.wait()
        for index in 1...20 { try push(index) }
        #expect(file.waitForChunks(21))
        gate.raise()
        #expect(slow.awaitChunks(4))
        #expect(slow.chunks.map(first) == [0, 18, 19, 20])
        #expect(slow.chunks.map(\.discontinuity) == [.start, .lost(frames: 17 * 480), nil, nil])
        #expect(slow.chunks[1].firstFrame == 18 * 480)
        #expect(subscription.statistics.framesLost.replaced == 17 * 480)
        #expect(file.chunks.dropFirst().allSatisfy { $0.discontinuity == nil })
        publisher.close()
    }

    @Test func dropNewestTurnsAway() throws {
        let (capture, publisher) = try started()
        let gate = ManualResetEvent()
        let isInside = ManualResetEvent()
        let slow = AudioRecorder { _ in
            isInside.raise()
            gate.wait()
        }
        let witness = RecordingAudioConsumer()
        let subscription = try publisher.add(slow, queue: .init(capacity: 2, policy: .dropNewest))
        try publisher.add(witness, queue: .init(capacity: 100, policy: .block))
        try publisher.start()
        let start = MonotonicClock().now
        func push(_ index: Int) throws {
            _ = capture.push(try buffer(Int16(index)), timestamp: start.advanced(by: .milliseconds(index * 10)))
        }
        try push(0)
        isInside.wait()
        for index in 1...5 { try push(index) }
        #expect(witness.waitForChunks(6))
        gate.raise()
        #expect(slow.awaitChunks(3))
        try push(6)
        #expect(slow.awaitChunks(4))
        #expect(slow.chunks.map(first) == [0, 1, 2, 6])
        #expect(slow.chunks.last?.discontinuity == .lost(frames: 3 * 480))
        #expect(subscription.statistics.framesLost.refused == 3 * 480)
        publisher.close()
    }

    /// A consumer that does not return is waited for no longer than its timeout.
    @Test func aStalledConsumerIsLeftBehind() throws {
        let (capture, publisher) = try started()
        let gate = ManualResetEvent()
        let isInside = ManualResetEvent()
        let stuck = AudioRecorder { _ in
            isInside.raise()
            gate.wait()
        }
        try publisher.add(stuck, name: "stuck", queue: .init(capacity: 1, policy: .block, timeout: .milliseconds(50)))
        try publisher.start()
        #expect(capture.push(try buffer(1)))
        isInside.wait()
        for index in 2...6 { capture.push(try buffer(Int16(index))) }
        // One waits in the queue before the capture is stopped.
        let limit = MonotonicClock().now.advanced(by: .seconds(60))
        while publisher.statistics.consumers[0].waiting == 0, MonotonicClock().now < limit {
            ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(1)))
        }
        #expect { try publisher.stop() } throws: { ($0 as? CaptureError)?.code == .stalled }
        #expect(publisher.statistics.consumers[0].isStalled)
        #expect(publisher.statistics.consumers[0].framesLost.total > 0)
        gate.raise()
        publisher.close()
    }

    @Test func removeEndsTheSupply() throws {
        let (capture, publisher) = try started()
        let (one, two) = (RecordingAudioConsumer(), RecordingAudioConsumer())
        let subscription = try publisher.add(one, queue: .init(capacity: 8, policy: .block))
        try publisher.add(two, queue: .init(capacity: 8, policy: .block))
        try publisher.start()
        let start = MonotonicClock().now
        capture.push(try buffer(1), timestamp: start)
        #expect(two.waitForChunks(1))
        publisher.remove(subscription)
        #expect(one.count == 1)
        capture.push(try buffer(2), timestamp: start.advanced(by: .milliseconds(10)))
        #expect(two.waitForChunks(2))
        #expect(one.count == 1)
        publisher.close()
        #expect(capture.state == .idle)
    }

    @Test func muteSendsSilence() throws {
        let (capture, publisher) = try started()
        let consumer = RecordingAudioConsumer()
        try publisher.add(consumer, queue: .init(capacity: 8, policy: .block))
        try publisher.start()
        let start = MonotonicClock().now
        for (index, isMuted) in [false, true, true, false].enumerated() {
            publisher.isMuted = isMuted
            capture.push(try buffer(7), timestamp: start.advanced(by: .milliseconds(index * 10)))
            #expect(consumer.waitForChunks(index + 1))
        }
        #expect(consumer.chunks.map(first) == [7, 0, 0, 7])
        #expect(consumer.chunks.map(\.firstFrame) == [0, 480, 960, 1440])
        #expect(consumer.chunks.dropFirst().allSatisfy { $0.discontinuity == nil })
        publisher.close()
    }

    @Test func replacingGoesOnWithTheLine() throws {
        let (old, publisher) = try started()
        let consumer = RecordingAudioConsumer()
        try publisher.add(consumer, queue: .init(capacity: 64, policy: .block))
        try publisher.start()
        let start = MonotonicClock().now
        for index in 0..<5 { old.push(try buffer(1), timestamp: start.advanced(by: .milliseconds(index * 10))) }
        #expect(consumer.waitForChunks(5))
        let new = PushAudioCapturer(format: mono, queueCapacity: 64, policy: .block)
        let pusher = Locked(false)
        try CaptureThread(name: "pusher") {
            // The first four are older than what was delivered.
            while !new.isCaptureStarted {
                ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(1)))
            }
            for index in 0..<7 {
                let time = start.advanced(by: .milliseconds(5 + index * 10))
                if let buffer = try? AudioBuffer(
                    copying: [Int16](repeating: 2, count: 480), channels: .mono, sampleRate: 48_000)
                {
                    new.push(buffer, timestamp: time)
                }
            }
            pusher.withLock { $0 = true }
        }
        try publisher.replaceCapture(with: new)
        #expect(old.state == .idle)
        #expect(consumer.waitForChunks(8))
        let chunks = consumer.chunks
        #expect(chunks.map(first).prefix(5).allSatisfy { $0 == 1 })
        #expect(chunks.map(first).dropFirst(5).allSatisfy { $0 == 2 })
        #expect(chunks[5].discontinuity == .start)
        #expect(
            zip(chunks, chunks.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp && $0.endFrame == $1.firstFrame })
        publisher.close()
        #expect(new.state == .idle)
    }

    /// One that waits for the new capture's first chunk.
    @Test(arguments: [false, true]) func aStopEndsAReplacement(isClosed: Bool) async throws {
        let (old, publisher) = try started()
        try publisher.start()
        let new = PushAudioCapturer(format: mono)
        let replacement = Task.detached { try publisher.replaceCapture(with: new, timeout: .seconds(60)) }
        while !new.isCaptureStarted { await Task.yield() }
        if isClosed { publisher.close() } else { try publisher.stop() }
        await #expect { try await replacement.value } throws: { ($0 as? CaptureError)?.code == .invalidState }
        #expect(new.state == .idle)
        #expect(publisher.capture === old)
        publisher.close()
    }

    @Test func aReplacementThatFailsChangesNothing() throws {
        let (old, publisher) = try started()
        try publisher.start()
        let broken = AudioSourceCapturer(
            ScriptedSound(mono, [.failure(CaptureError(.deviceLost, operation: "test", message: "x"))]))
        #expect(throws: CaptureError.self) {
            try publisher.replaceCapture(with: broken, timeout: .milliseconds(100))
        }
        #expect(publisher.capture === old)
        #expect(old.isCaptureStarted)
        #expect(broken.state == .idle)
        publisher.close()
    }

    @Test func aClosedOneRefusesAStartAndConsumers() throws {
        let (capture, publisher) = try started()
        publisher.close()
        let start = #expect(throws: CaptureError.self) { try publisher.start() }
        #expect(start?.code == .invalidState)
        let add = #expect(throws: CaptureError.self) { try publisher.add(LevelMeter()) }
        #expect(add?.code == .invalidState)
        #expect(capture.state == .idle)
    }
}
