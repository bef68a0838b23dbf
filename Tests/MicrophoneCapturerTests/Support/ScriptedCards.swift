import AudioCapturing
import Glibc

@testable import MicrophoneCapturer

/// Sound cards that are plugged in, pulled and made to hang by a test. What they record is silence, in real time.
final class ScriptedCards: Sendable {
    fileprivate struct Slot {
        var card: SoundCard
        /// Which plugging-in it is: a device that was opened before is gone.
        var plugging: Int
        var hangs = false
    }

    private struct State {
        var slots: [Int: Slot] = [:]
        var pluggings = 0
        var looks = 0
        var opened: [(name: String, card: SoundCard)] = []
    }

    private let state = Locked(State())
    /// The sound server behind them.
    let server = Server()

    /// What was opened, in order.
    var opened: [(name: String, card: SoundCard)] { state.withLock { $0.opened } }

    /// How often it was asked whether a card is there.
    var looks: Int { state.withLock { $0.looks } }

    func plug(_ card: SoundCard, at number: Int) {
        state.withLock { state in
            state.pluggings += 1
            state.slots[number] = Slot(card: card, plugging: state.pluggings)
        }
    }

    func pull(_ number: Int) { _ = state.withLock { $0.slots.removeValue(forKey: number) } }

    /// The driver's word that the card does not answer, once.
    func hang(_ number: Int) { state.withLock { $0.slots[number]?.hangs = true } }

    var system: SoundSystem {
        SoundSystem(
            open: { (name, format, period) throws(CaptureError) in try self.open(name, format, period) },
            card: { number in self.state.withLock { $0.slots[number]?.card } },
            isPresent: { card in
                self.state.withLock { state in
                    state.looks += 1
                    return state.slots.values.contains { $0.card == card }
                }
            })
    }

    /// Finds a card as ALSA does, by number or identifier; `default` is card 0.
    private func open(
        _ name: String, _ format: AudioFormat, _ period: Duration
    ) throws(CaptureError) -> ScriptedDevice {
        server.wait()
        let arguments = name.split(separator: ":").dropFirst().first?.split(separator: ",") ?? ["0"]
        let argument = arguments.first { $0.hasPrefix("CARD=") } ?? arguments[0]
        let wanted = argument.hasPrefix("CARD=") ? argument.dropFirst(5) : argument
        let slot = state.withLock { state -> (Int, Slot)? in
            let found = state.slots.first { Int(wanted) == $0.key || wanted == $0.value.card.id }
            if let found { state.opened.append((name, found.value.card)) }
            return found.map { ($0.key, $0.value) }
        }
        guard let (number, slot) = slot else { throw PCMDevice.failure("open the microphone", name, -ENODEV) }
        return ScriptedDevice(name, format, period, place: (number, 0), server) {
            self.state.withLock { state in
                guard let present = state.slots[number], present.plugging == slot.plugging else { return ENODEV }
                guard present.hangs else { return nil }
                state.slots[number]?.hangs = false
                return EIO
            }
        }
    }
}

extension ScriptedCards {
    /// A sound server that a test makes hang: calls wait for it, and devices give nothing.
    final class Server: Sendable {
        private let state = Locked((hangs: false, waiting: 0))

        var hangs: Bool { state.withLock { $0.hangs } }
        /// The calls that wait.
        var waiting: Int { state.withLock { $0.waiting } }

        func hang() { state.withLock { $0.hangs = true } }

        func goOn() {
            state.withLock { $0.hangs = false }
            state.wakeAll()
        }

        fileprivate func wait() {
            state.withLock { $0.waiting += 1 }
            state.wait { $0.hangs ? nil : () }
            state.withLock { $0.waiting -= 1 }
        }
    }
}

/// A device of such a card, with a buffer of 200 ms.
private final class ScriptedDevice: RecordingDevice, @unchecked Sendable {
    let name: String
    let format: AudioFormat
    let framesPerPeriod: Int
    let bufferDuration = Duration.milliseconds(200)
    let place: (card: Int, device: Int)?
    private let server: ScriptedCards.Server
    private let findError: () -> Int32?
    /// When the first frame that was not read was recorded.
    private var next = MediaTime.zero

    init(
        _ name: String, _ format: AudioFormat, _ period: Duration, place: (card: Int, device: Int),
        _ server: ScriptedCards.Server, findError: @escaping () -> Int32?
    ) {
        self.name = name
        self.format = format
        self.place = place
        self.server = server
        self.findError = findError
        framesPerPeriod = Int(format.frames(in: period))
    }

    private var period: Duration { format.duration(ofFrames: Int64(framesPerPeriod)) }

    func start() throws(CaptureError) {
        server.wait()
        if let error = findError() { throw PCMDevice.failure("start the microphone", name, -error) }
        next = MonotonicClock().now
    }

    func stop() { server.wait() }
    func close() { server.wait() }

    func wait(stop: Int32, until deadline: MediaTime) -> Bool {
        let hangs = server.hangs
        _ = pollInput(-1, interruptedBy: stop, until: hangs ? deadline : next.advanced(by: period))
        return !hangs
    }

    func read(into samples: UnsafeMutableRawBufferPointer) throws(CaptureError) -> DeviceReading {
        if let error = findError() { throw PCMDevice.failure("record", name, -error) }
        guard !server.hangs else { return .none }
        let now = MonotonicClock().now
        guard now >= next.advanced(by: period) else { return .none }
        guard now - next < bufferDuration else {
            next = now
            return .overrun
        }
        samples.initializeMemory(as: UInt8.self, repeating: 0)
        defer { next = next.advanced(by: period) }
        return .frames(framesPerPeriod, timestamp: next)
    }
}
