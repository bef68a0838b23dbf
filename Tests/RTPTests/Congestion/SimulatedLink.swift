/// A bottleneck in virtual time: a rate that changes, a queue that drops what does not fit, delay, random loss and
/// reordering behind it. Times are seconds.
struct SimulatedLink {
    struct Packet {
        /// Which flow it is of: 0 is the sender under test, others are competitors.
        var flow: Int
        var number: Int
        var bytes: Int
    }

    /// The rate from a time on, in bits per second.
    var rates: [(from: Double, rate: Double)]
    /// How much the queue holds, as the time that its draining takes at the rate of the moment.
    var queueLimit = 0.4
    /// One way, without the queue.
    var delay = 0.02
    var loss = 0.0
    /// The part of the packets that is held up by up to ``reorderDelay``.
    var reordering = 0.0
    var reorderDelay = 0.015

    private(set) var queue: [Packet] = []
    private var head = 0
    private(set) var queuedBytes = 0
    private(set) var drops = 0
    private(set) var isBusy = false

    init(rates: [(from: Double, rate: Double)]) { self.rates = rates }

    func rate(at time: Double) -> Double { rates.last { $0.from <= time }?.rate ?? rates[0].rate }

    /// How long a packet that comes now would wait.
    func queueDelay(at time: Double) -> Double { Double(queuedBytes) * 8 / rate(at: time) }

    /// Takes a packet. Returns how long the sending of the first one takes, when the link was idle.
    mutating func push(_ packet: Packet, at time: Double) -> Double? {
        guard queueDelay(at: time) < queueLimit else {
            drops += 1
            return nil
        }
        queue.append(packet)
        queuedBytes += packet.bytes
        guard !isBusy else { return nil }
        isBusy = true
        return Double(packet.bytes) * 8 / rate(at: time)
    }

    /// The first packet has left. Returns it, and how long the next one takes; nil when there is none.
    mutating func pop(at time: Double) -> (Packet, next: Double?) {
        let packet = queue[head]
        head += 1
        queuedBytes -= packet.bytes
        if head > 1000 {
            queue.removeFirst(head)
            head = 0
        }
        guard head < queue.count else {
            isBusy = false
            return (packet, nil)
        }
        return (packet, Double(queue[head].bytes) * 8 / rate(at: time))
    }

    /// How long a packet that has left takes to arrive; nil when it is lost.
    func flight(_ random: inout SeededGenerator) -> Double? {
        if random.unit() < loss { return nil }
        return delay + (random.unit() < reordering ? random.unit() * reorderDelay : 0)
    }
}

/// TCP's congestion control as RFC 5681 has it (Reno), with an endless file to send. Times are seconds.
struct RenoSender {
    static let packetBytes = 1240
    private(set) var window = 10.0
    private var threshold = Double.infinity
    private var next = 0
    private var unanswered: [Int] = []
    private var recovery = -1
    private var lastAnswer = 0.0
    private(set) var bytesReceived = 0

    /// The numbers of the packets that may be sent now.
    mutating func packets(at time: Double) -> [Int] {
        if !unanswered.isEmpty, time - lastAnswer > 1 {
            // The retransmission timer.
            threshold = max(window / 2, 2)
            window = 1
            unanswered.removeAll()
            recovery = next - 1
            lastAnswer = time
        }
        var numbers: [Int] = []
        while unanswered.count < Int(window) {
            if unanswered.isEmpty { lastAnswer = time }
            numbers.append(next)
            unanswered.append(next)
            next += 1
        }
        return numbers
    }

    /// A packet's acknowledgement has come.
    mutating func acknowledge(_ number: Int, at time: Double) {
        lastAnswer = time
        bytesReceived += RenoSender.packetBytes
        unanswered.removeAll { $0 == number }
        // Three later ones have arrived: it is lost.
        let lost = unanswered.prefix { $0 + 3 <= number }
        if let newest = lost.last {
            unanswered.removeFirst(lost.count)
            if newest > recovery {
                threshold = max(window / 2, 2)
                window = threshold
                recovery = next - 1
            }
        } else {
            window += window < threshold ? 1 : 1 / window
        }
    }
}
