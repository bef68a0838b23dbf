import AudioCapturing
import Glibc
import Testing

@testable import MediaPublishing

/// Sound of a card whose clock is off: what each of its samples is worth at the time when it was captured.
struct Card {
    /// Samples per second of the clock.
    var rate: Double
    /// What it states.
    var nominalRate = 48_000
    var start = MediaTime(nanoseconds: 9_000_000_000)
    var framesPerChunk = 960
    var channels = ChannelLayout.mono

    var format: AudioFormat { AudioFormat(.float32, channels, sampleRate: nominalRate) }

    /// The time of a sample.
    func time(_ frame: Int) -> MediaTime {
        start.advanced(by: .nanoseconds(Int64((Double(frame) / rate * 1e9).rounded())))
    }

    /// A chunk of the samples from one on; `sound` is the value at a time, in seconds from `start`.
    func chunk(
        _ first: Int, discontinuity: AudioChunk.Discontinuity? = nil, sound: (Double) -> Float
    ) throws -> AudioChunk {
        let samples = (first..<first + framesPerChunk).flatMap { frame in
            [Float](repeating: sound(Double(frame) / rate), count: channels.count)
        }
        return AudioChunk(
            buffer: try AudioBuffer(copying: samples, channels: channels, sampleRate: nominalRate),
            timestamp: time(first), firstFrame: Int64(first), discontinuity: discontinuity)
    }
}

/// What a time line gives.
final class Line {
    var samples: [Float] = []
    var chunks = 0

    func take(_ chunk: AudioChunk) {
        #expect(chunk.firstFrame == Int64(samples.count / chunk.format.channels.count))
        chunk.buffer.withSamples(as: Float.self) { span in
            for index in span.indices { samples.append(span[index]) }
        }
        chunks += 1
    }
}

@Suite struct AudioSynchronizerTests {
    private func sine(_ time: Double) -> Float { Float(0.5 * sin(2 * .pi * 997 * time)) }

    /// Each sample is what the sound was at its time, to 70 dB at any error of the clock: no drift is left.
    @Test(arguments: [0, 100, -100, 1000, -1000, 20_000]) func theClockOfTheCardIsFollowed(ppm: Int) throws {
        let card = Card(rate: 48_000 * (1 + Double(min(ppm, 2000)) * 1e-6))
        let synchronizer = AudioSynchronizer(from: card.start, channels: .mono)
        synchronizer.setEnd(card.start.advanced(by: .seconds(9)))
        let line = Line()
        for index in 0..<500 { try synchronizer.add(card.chunk(index * 960, sound: sine)) { line.take($0) } }
        try synchronizer.finish(at: card.start.advanced(by: .seconds(9))) { line.take($0) }
        #expect(line.samples.count == 9 * 48_000)
        #expect(line.chunks == 450)
        // Not the edges, where silence meets the sound.
        let error = (480..<9 * 48_000 - 960).map { abs(line.samples[$0] - sine(Double($0) / 48_000)) }.max() ?? 1
        #expect(error < 0.5 * 3e-4, "\(error)")
        #expect(synchronizer.statistics == AudioSynchronizer.Statistics())
    }

    @Test(arguments: [8000, 16_000, 44_100, 96_000, 192_000]) func otherRatesAreConverted(rate: Int) throws {
        let card = Card(rate: Double(rate) * 1.0001, nominalRate: rate, framesPerChunk: rate / 50)
        let synchronizer = AudioSynchronizer(from: card.start, channels: .mono)
        let line = Line()
        for index in 0..<100 {
            try synchronizer.add(card.chunk(index * card.framesPerChunk, sound: sine)) { line.take($0) }
        }
        try synchronizer.finish(at: nil) { line.take($0) }
        #expect(abs(line.samples.count - 2 * 48_000) < 100)
        let error = (960..<90_000).map { abs(line.samples[$0] - sine(Double($0) / 48_000)) }.max() ?? 1
        #expect(error < 0.5 * 1e-3, "\(error)")
    }

    /// Nothing is held back but what the filter reaches into the next chunk, once two chunks have told the clock's rate.
    @Test func aChunkIsGivenWhenItHasCome() throws {
        let card = Card(rate: 48_000 * 1.0003, framesPerChunk: 480)
        let synchronizer = AudioSynchronizer(from: card.start, channels: .mono, framesPerChunk: 48)
        let line = Line()
        for index in 0..<100 {
            try synchronizer.add(card.chunk(index * 480, sound: sine)) { line.take($0) }
            let come = Double((index + 1) * 480) / 1.0003
            #expect(index == 0 || come - Double(line.samples.count) < 24 + 48 + 2, "chunk \(index)")
        }
    }

    @Test func allChannelsAreKept() throws {
        let card = Card(rate: 48_000, channels: .discrete(5))
        let synchronizer = AudioSynchronizer(from: card.start, channels: card.channels)
        let line = Line()
        let samples: [Float] = (0..<960 * 5).map { Float($0 % 5) / 8 }
        for index in 0..<10 {
            let buffer = try AudioBuffer(copying: samples, channels: card.channels, sampleRate: 48_000)
            try synchronizer.add(AudioChunk(buffer: buffer, timestamp: card.time(index * 960))) { line.take($0) }
        }
        try synchronizer.finish(at: nil) { line.take($0) }
        let all = [[Float]](repeating: samples, count: 10).flatMap { $0 }
        #expect(line.samples == all)
    }

    /// Beeps at whole seconds of the clock are within half a millisecond of them after an hour, and after the microphone was
    /// away in its middle. All else is silence, which takes next to no time, so that an hour does not take one.
    @Test(arguments: [0.0, 100, -100, 1000, -1000]) func anHourLeavesNoDrift(ppm: Double) throws {
        // None at the seam of two chunks of the line.
        let beeps = [1, 601, 1501, 1799, 1803, 2402, 3598]
        let away = 1800.2..<1802.7
        var card = Card(rate: 48_000 * (1 + ppm * 1e-6))
        let silence = try AudioBufferPool(capacity: 1).makeSilence(card.format, frameCount: 48_000)
        let synchronizer = AudioSynchronizer(from: card.start, channels: .mono, framesPerChunk: 40_000)
        var found: [Double] = []
        func listen(_ chunk: AudioChunk) {
            let isSilent = chunk.buffer.withUnsafeBytes { bytes in
                bytes[0] == 0 && memcmp(bytes.baseAddress!, bytes.baseAddress! + 1, bytes.count - 1) == 0
            }
            if isSilent { return }
            let begin = (chunk.timestamp - card.start).seconds
            chunk.buffer.withSamples(as: Float.self) { span in
                if let first = span.indices.first(where: { abs(span[$0]) > 0.2 }) {
                    found.append(begin + Double(first) / 48_000)
                }
            }
        }
        func beep(_ time: Double) -> Float {
            let inside = time - time.rounded(.down)
            guard beeps.contains(Int(time)), inside < 0.03 else { return 0 }
            return Float(0.7 * cos(2 * .pi * 1000 * inside))
        }
        var frame = 0
        var lost: AudioChunk.Discontinuity?
        while Double(frame) / card.rate < 3600 {
            let time = Double(frame) / card.rate
            if away.contains(time) {
                let next = Int(away.upperBound * card.rate) + 1
                lost = .lost(frames: Int64(next - frame))
                frame = next
                continue
            }
            // A beep comes in chunks of 20 ms.
            if beeps.contains(where: { (-1.1...0.1).contains(time - Double($0)) }) {
                card.framesPerChunk = 960
                try synchronizer.add(card.chunk(frame, discontinuity: lost.take(), sound: beep)) { listen($0) }
            } else {
                card.framesPerChunk = 48_000
                let chunk = AudioChunk(
                    buffer: silence, timestamp: card.time(frame), firstFrame: Int64(frame), discontinuity: lost.take())
                try synchronizer.add(chunk) { listen($0) }
            }
            frame += card.framesPerChunk
        }
        try synchronizer.finish(at: card.start.advanced(by: .seconds(3600))) { listen($0) }
        #expect(found.count == beeps.count)
        for (found, beep) in zip(found, beeps) {
            #expect(abs(found - Double(beep)) < 0.0005, "\((found - Double(beep)) * 1000) ms at \(beep) s")
        }
        #expect(synchronizer.statistics.framesLeftOut == 0)
        let silent = Double(synchronizer.statistics.framesOfSilence) / 48_000
        #expect(abs(silent - 2.5) < 1.1, "what lies between the chunks is the hole alone")
    }

    /// A sample of the same rate and time is passed on as it is.
    @Test func withoutAnErrorNothingChanges() throws {
        let card = Card(rate: 48_000)
        let synchronizer = AudioSynchronizer(from: card.start, channels: .mono)
        let line = Line()
        for index in 0..<50 {
            try synchronizer.add(card.chunk(index * 960) { $0 < 0.5 ? 0.25 : -0.75 }) { line.take($0) }
        }
        try synchronizer.finish(at: nil) { line.take($0) }
        #expect(line.samples == (0..<48_000).map { $0 < 24_000 ? 0.25 : -0.75 })
    }

    /// What is missing is silence, of its exact length, and the sound after it is where it belongs.
    @Test(arguments: [30, 500, 30_000]) func holesAreSilence(milliseconds: Int) throws {
        let card = Card(rate: 48_000 * 1.0002)
        let synchronizer = AudioSynchronizer(from: card.start, channels: .mono)
        let line = Line()
        for index in 0..<50 { try synchronizer.add(card.chunk(index * 960, sound: sine)) { line.take($0) } }
        let missing = milliseconds * 48
        for index in 50..<100 {
            let lost: AudioChunk.Discontinuity? = index == 50 ? .lost(frames: Int64(missing)) : nil
            try synchronizer.add(card.chunk(index * 960 + missing, discontinuity: lost, sound: sine)) { line.take($0) }
        }
        try synchronizer.finish(at: nil) { line.take($0) }
        let resumes = Int(Double(48_000 + missing) / 1.0002)
        for frame in 48_100..<resumes - 100 { #expect(line.samples[frame] == 0) }
        let error = (resumes + 100..<resumes + 40_000).map { abs(line.samples[$0] - sine(Double($0) / 48_000)) }.max()
        #expect(try #require(error) < 0.01)
        // Counted in frames of 48 kHz, of which the card's are a little shorter.
        let silence = Int64(Double(missing) / 1.0002)
        #expect(abs(synchronizer.statistics.framesOfSilence - silence) < 20)
    }

    @Test func theBeginningIsTheStart() throws {
        // Sound from before the start is left out, sound after it is preceded by silence; to a fraction of a sample.
        for offset in [-0.7, -0.0301, -0.010005, 0, 0.0100075, 0.7] {
            let card = Card(rate: 48_000)
            let start = card.start.advanced(by: .nanoseconds(Int64(offset * -1e9)))
            let synchronizer = AudioSynchronizer(from: start, channels: .mono)
            let line = Line()
            for index in 0..<100 { try synchronizer.add(card.chunk(index * 960, sound: sine)) { line.take($0) } }
            try synchronizer.finish(at: nil) { line.take($0) }
            let first = max(0, Int(offset * 48_000))
            let error = (first + 100..<first + 30_000).map { frame in
                abs(line.samples[frame] - sine(Double(frame) / 48_000 - offset))
            }.max()
            // A fraction of a sample at the seam of silence: 20 µs of a sine are 0.06 of it.
            #expect(try #require(error) < (offset > 0 ? 0.07 : 0.001), "\(offset)")
            #expect(line.samples.prefix(max(0, first - 50)).allSatisfy { $0 == 0 })
        }
    }

    @Test func soundThatComesTooLateIsLeftOut() throws {
        let card = Card(rate: 48_000)
        let synchronizer = AudioSynchronizer(from: card.start, channels: .mono)
        let line = Line()
        try synchronizer.add(card.chunk(0, sound: sine)) { line.take($0) }
        try synchronizer.fill(until: card.time(48_000)) { line.take($0) }
        // A second of it, of which nothing is wanted any more; then sound that is.
        for index in 1..<100 { try synchronizer.add(card.chunk(index * 960, sound: sine)) { line.take($0) } }
        try synchronizer.finish(at: nil) { line.take($0) }
        #expect(line.samples.count == 96_000)
        #expect(abs(synchronizer.statistics.framesLeftOut - 47_040) <= 960)
        let error = (49_500..<95_000).map { abs(line.samples[$0] - sine(Double($0) / 48_000)) }.max()
        #expect(try #require(error) < 0.001)
    }

    /// Nothing is longer than it may be, and nothing is given after the end.
    @Test func theEndIsExact() throws {
        for seconds in [0.5, 1.0, 1.5] {
            let card = Card(rate: 48_000)
            let synchronizer = AudioSynchronizer(from: card.start, channels: .stereo)
            synchronizer.setEnd(card.start.advanced(by: .seconds(1)))
            let line = Line()
            for index in 0..<Int(seconds * 50) {
                try synchronizer.add(card.chunk(index * 960, sound: sine)) { line.take($0) }
            }
            try synchronizer.finish(at: card.start.advanced(by: .seconds(2))) { line.take($0) }
            #expect(line.samples.count == 2 * 48_000)
            // Mono is heard on both sides.
            let samples: [Float] = line.samples
            #expect(stride(from: 0, to: 96_000, by: 2).allSatisfy { (left: Int) in samples[left] == samples[left + 1] })
        }
    }

    /// A capture in place of another: other rate, other channels.
    @Test func theFormatMayChange() throws {
        let first = Card(rate: 44_100, nominalRate: 44_100, framesPerChunk: 882, channels: .stereo)
        let second = Card(rate: 48_000)
        let synchronizer = AudioSynchronizer(from: first.start, channels: .stereo)
        let line = Line()
        for index in 0..<50 { try synchronizer.add(first.chunk(index * 882, sound: sine)) { line.take($0) } }
        for index in 50..<100 {
            let change: AudioChunk.Discontinuity? = index == 50 ? .formatChanged : nil
            try synchronizer.add(second.chunk(index * 960, discontinuity: change, sound: sine)) { line.take($0) }
        }
        try synchronizer.finish(at: nil) { line.take($0) }
        #expect(line.samples.count == 2 * 96_000)
        let error = (Array(200..<47_900) + Array(48_100..<95_900)).map {
            abs(line.samples[2 * $0] - sine(Double($0) / 48_000))
        }
        .max()
        #expect(try #require(error) < 0.002)
    }

    /// Times that jitter by milliseconds are followed without being heard, and do not add up.
    @Test func jitterIsSmoothed() throws {
        let card = Card(rate: 48_000)
        let synchronizer = AudioSynchronizer(from: card.start, channels: .mono)
        let line = Line()
        for index in 0..<500 {
            var chunk = try card.chunk(index * 960, sound: sine)
            chunk.timestamp = chunk.timestamp.advanced(by: .microseconds(index * 7919 % 4001 - 2000))
            try synchronizer.add(chunk) { line.take($0) }
        }
        try synchronizer.finish(at: nil) { line.take($0) }
        #expect(abs(line.samples.count - 480_000) < 200)
        #expect(synchronizer.statistics == AudioSynchronizer.Statistics())
    }
}
