import CaptureCore
import RTP

/// A publisher in virtual time: an encoder that follows the target, the pacer, a link, a receiver with feedback, and the
/// estimator under test. The same seed gives the same run.
struct CongestionSimulation {
    struct Settings {
        var link: SimulatedLink
        var maximum = 2_500_000
        /// Between the receiver's feedback packets.
        var feedbackInterval = 0.1
        var keyFrameInterval: Double?
        /// The time in which the encoder comes closer to a target, to 37 %.
        var encoderLag = 0.2
        /// Whether an endless download shares the link, and from when.
        var competitorStart: Double?
        var usesTransportFeedback = true
        var canPad = true
        var seed: UInt64 = 1
    }

    /// What was measured in each tenth of a second.
    struct Sample {
        var time: Double
        var target: Int
        var sentBytes: Int
        var receivedBytes: Int
        var competitorBytes: Int
        var queueDelay: Double
        var loss: Double
        var pacerDelay: Double
    }

    private enum Event {
        case frame, pace, linkDone
        case arrival(SimulatedLink.Packet)
        case acknowledgement(Int)
        case competitor
        case collect
        case feedback([UInt8])
        case receiverReport(UInt8, roundTrip: Double)
        case senderReport
        case tick, sample
    }

    let settings: Settings
    private var link: SimulatedLink
    private var random: SeededGenerator
    private(set) var estimator: BandwidthEstimator
    private var pacer: Pacer
    private var encoder: SimulatedEncoder
    private var reno = RenoSender()
    private var events = EventQueue<Event>()
    private var now = 0.0
    private var nextSequence = 0
    private var receiver = SimulatedReceiver()
    /// As the last sender report had it, half a second before the receiver's.
    private var roundTrip: Double
    private var sentBytes = 0
    private var receivedBytes = 0
    private var competitorBytes = 0
    private var largestQueueDelay = 0.0
    private(set) var samples: [Sample] = []

    init(_ settings: Settings) {
        self.settings = settings
        link = settings.link
        random = SeededGenerator(seed: settings.seed)
        roundTrip = 2 * settings.link.delay
        var configuration = BandwidthEstimator.Configuration(maximum: settings.maximum)
        configuration.usesTransportFeedback = settings.usesTransportFeedback
        estimator = BandwidthEstimator(configuration)
        pacer = Pacer(bitrate: estimator.pacingRate(at: .zero))
        encoder = SimulatedEncoder(rate: Double(estimator.target), settings.keyFrameInterval, lag: settings.encoderLag)
        events.add(.frame, at: 0)
        events.add(.collect, at: settings.feedbackInterval)
        events.add(.senderReport, at: settings.feedbackInterval + 0.5)
        events.add(.tick, at: 0)
        events.add(.sample, at: 0.1)
        if let start = settings.competitorStart { events.add(.competitor, at: start) }
    }

    /// The link's rate can change while it runs; see ``SimulatedLink/rates``.
    mutating func run(until end: Double) {
        while let (time, event) = events.next(before: end) {
            now = time
            handle(event)
        }
        now = end
    }

    private var mediaTime: MediaTime { MediaTime(nanoseconds: 1_000_000_000 + Int64(now * 1e9)) }

    private mutating func handle(_ event: Event) {
        switch event {
        case .frame:
            for bytes in encoder.encode(target: Double(estimator.target), at: now, &random) {
                pacer.push(Pacer.Entry(token: 0, bytes: bytes), .video)
            }
            events.add(.frame, at: now + 1.0 / 30)
            pace()
        case .pace: pace()
        case .linkDone: linkDone()
        case .arrival(let packet): arrive(packet)
        case .acknowledgement(let number):
            reno.acknowledge(number, at: now)
            sendCompetitor()
        case .competitor:
            sendCompetitor()
            events.add(.competitor, at: now + 0.1)
        case .collect: collect()
        case .feedback(let bytes):
            bytes.withUnsafeBytes { packet in _ = estimator.handleFeedback(packet, at: mediaTime) }
            if let probe = estimator.takeProbe(), settings.canPad {
                pacer.begin(probe)
                pace()
            }
        case .receiverReport(let fraction, let roundTrip):
            estimator.handleReport(
                fractionLost: fraction, roundTripTime: .microseconds(Int64(roundTrip * 1e6)), at: mediaTime)
        case .senderReport:
            roundTrip = link.queueDelay(at: now) + 2 * link.delay
            events.add(.senderReport, at: now + 1)
        case .tick:
            estimator.update(at: mediaTime)
            events.add(.tick, at: now + 0.1)
        case .sample: sample()
        }
    }

    // MARK: Sender

    private mutating func pace() {
        pacer.bitrate = estimator.pacingRate(at: mediaTime)
        while let output = pacer.next(at: mediaTime) {
            switch output {
            case .packet(let entry, _, let probe): send(entry.bytes, probe)
            case .padding(let bytes, let probe): send(bytes, probe)
            }
        }
        if let next = pacer.nextTime(after: mediaTime) {
            events.add(.pace, at: max(Double(next.nanoseconds - 1_000_000_000) / 1e9, now + 0.000_001))
        }
    }

    private mutating func send(_ bytes: Int, _ probe: UInt8) {
        estimator.didSend(UInt16(truncatingIfNeeded: nextSequence), bytes: bytes, at: mediaTime, probe: probe)
        sentBytes += bytes + 28
        enqueue(SimulatedLink.Packet(flow: 0, number: nextSequence, bytes: bytes + 28))
        nextSequence += 1
    }

    private mutating func sendCompetitor() {
        for number in reno.packets(at: now) {
            enqueue(SimulatedLink.Packet(flow: 1, number: number, bytes: RenoSender.packetBytes))
        }
    }

    // MARK: Link and receiver

    private mutating func enqueue(_ packet: SimulatedLink.Packet) {
        if let duration = link.push(packet, at: now) { events.add(.linkDone, at: now + duration) }
        largestQueueDelay = max(largestQueueDelay, link.queueDelay(at: now))
    }

    private mutating func linkDone() {
        let (packet, next) = link.pop(at: now)
        if let next { events.add(.linkDone, at: now + next) }
        if let flight = link.flight(&random) { events.add(.arrival(packet), at: now + flight) }
    }

    private mutating func arrive(_ packet: SimulatedLink.Packet) {
        if packet.flow == 0 {
            receivedBytes += packet.bytes
            // The receiver's clock has another epoch.
            receiver.arrive(packet.number, at: now + 4000)
        } else {
            competitorBytes += packet.bytes
            events.add(.acknowledgement(packet.number), at: now + link.delay)
        }
    }

    private mutating func collect() {
        if settings.usesTransportFeedback {
            for bytes in receiver.feedback() { events.add(.feedback(bytes), at: now + link.delay) }
            events.add(.collect, at: now + settings.feedbackInterval)
        } else {
            if let fraction = receiver.fractionLost() {
                events.add(.receiverReport(fraction, roundTrip: roundTrip), at: now + link.delay)
            }
            events.add(.collect, at: now + 1)
        }
    }

    private mutating func sample() {
        samples.append(
            Sample(
                time: now, target: estimator.target, sentBytes: sentBytes, receivedBytes: receivedBytes,
                competitorBytes: competitorBytes, queueDelay: largestQueueDelay, loss: estimator.statistics.loss,
                pacerDelay: pacer.queueDuration.seconds))
        (sentBytes, receivedBytes, competitorBytes, largestQueueDelay) = (0, 0, 0, 0)
        events.add(.sample, at: now + 0.1)
    }
}

extension CongestionSimulation {
    /// Bits per second that have arrived in a span of time.
    func received(_ span: ClosedRange<Double>) -> Double { mean(span, \.receivedBytes) * 80 }
    func competitor(_ span: ClosedRange<Double>) -> Double { mean(span, \.competitorBytes) * 80 }
    func target(_ span: ClosedRange<Double>) -> Double { mean(span, \.target) }
    func largestQueueDelay(_ span: ClosedRange<Double>) -> Double {
        samples.filter { span.contains($0.time) }.map(\.queueDelay).max() ?? 0
    }

    private func mean(_ span: ClosedRange<Double>, _ value: (Sample) -> Int) -> Double {
        let values = samples.filter { span.contains($0.time) }.map(value)
        return values.isEmpty ? 0 : Double(values.reduce(0, +)) / Double(values.count)
    }
}

/// Frames of 30 per second, whose sizes follow the target after a while and vary; key frames are five times as large and
/// are paid for by those that follow.
struct SimulatedEncoder {
    private var rate: Double
    private let keyFrameInterval: Double?
    private let lag: Double
    private var debt = 0.0
    private var nextKeyFrame = 0.0

    init(rate: Double, _ keyFrameInterval: Double?, lag: Double) {
        self.rate = rate
        self.keyFrameInterval = keyFrameInterval
        self.lag = lag
    }

    /// The sizes of a frame's packets.
    mutating func encode(target: Double, at time: Double, _ random: inout SeededGenerator) -> [Int] {
        rate += (target * 0.95 - rate) * min(1, (1.0 / 30) / max(lag, 1.0 / 30))
        let nominal = rate / 8 / 30
        var bytes = nominal * (0.8 + 0.4 * random.unit())
        if time >= nextKeyFrame {
            bytes *= 5
            nextKeyFrame = keyFrameInterval.map { time + $0 } ?? .infinity
        } else {
            bytes = max(nominal * 0.4, bytes - debt / 15)
        }
        debt = max(0, debt + bytes - nominal)
        let count = max(1, Int((bytes / 1172).rounded(.up)))
        return [Int](repeating: max(60, Int(bytes) / count), count: count)
    }
}

/// What a receiver notes of the packets, for its feedback.
struct SimulatedReceiver {
    private var arrivals: [Int: Double] = [:]
    private var windowStart: Int?
    private var highest = -1
    private var feedbackCount: UInt8 = 0
    private var reportBase = 0
    private var receivedCount = 0

    mutating func arrive(_ number: Int, at time: Double) {
        guard arrivals[number] == nil else { return }
        arrivals[number] = time
        receivedCount += 1
        highest = max(highest, number)
        // A late one is reported with all that follow it, as libwebrtc does.
        windowStart = min(windowStart ?? number, number)
    }

    mutating func feedback() -> [[UInt8]] {
        guard let start = windowStart, start <= highest else { return [] }
        let packets: [FeedbackWriter.Packet] = (start...highest).map { number in
            (UInt16(truncatingIfNeeded: number), arrivals[number].map { Int($0 * 4000) })
        }
        feedbackCount &+= 1
        windowStart = highest + 1
        arrivals = arrivals.filter { $0.key > highest - 500 }
        return [FeedbackWriter.write(packets, feedbackCount: feedbackCount)]
    }

    /// Since the last report, of 256.
    mutating func fractionLost() -> UInt8? {
        let expected = highest + 1 - reportBase
        guard expected > 0 else { return nil }
        let lost = max(0, expected - receivedCount)
        reportBase = highest + 1
        receivedCount = 0
        return UInt8(min(255, lost * 256 / expected))
    }
}

/// Events in the order of their times; those of one time in that in which they were added.
struct EventQueue<Event> {
    private var heap: [(time: Double, order: Int, event: Event)] = []
    private var order = 0

    mutating func add(_ event: Event, at time: Double) {
        order += 1
        heap.append((time, order, event))
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next(before end: Double) -> (Double, Event)? {
        guard let first = heap.first, first.time < end else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(child, least) {
                least = child
            }
            if least == parent { break }
            heap.swapAt(parent, least)
            parent = least
        }
        return (first.time, first.event)
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].order) < (heap[right].time, heap[right].order)
    }
}
