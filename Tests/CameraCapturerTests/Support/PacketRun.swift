import PacketCapturing
import VideoCapturing

@testable import CameraCapturer

/// A capture of the packets of a ``StreamingMachine``'s camera, with its packets and events.
final class PacketRun {
    let machine: StreamingMachine
    let capture: CameraPacketCapturer
    private let store = PacketStore()
    private var taken: Locked<[MediaPacket]> { store.taken }
    private let told = Locked<[CameraCapturer.Event]>([])

    var camera: FakeCamera { machine.camera }
    var packets: [MediaPacket] { taken.withLock { $0 } }
    var events: [CameraCapturer.Event] { told.withLock { $0 } }

    static func h264(_ pictures: EncodedPictures = EncodedPictures(), rate: FrameRate = 200) -> StreamingMachine {
        let fourCC: FourCC = pictures.codec == .h264 ? .h264 : .hevc
        let machine = StreamingMachine([FakeCamera.Mode(fourCC: fourCC, width: 64, height: 48, rate: rate)])
        machine.camera.set { $0.contents = { pictures($0) } }
        return machine
    }

    init(
        _ machine: StreamingMachine,
        _ configuration: CameraPacketCapturer.Configuration = .init(desiredFrameRate: 200),
        firstKeyFrameLimit: Duration = .seconds(60)
    ) {
        self.machine = machine
        capture = CameraPacketCapturer(
            configuration, clock: MonotonicClock(), directory: machine.directory,
            firstKeyFrameLimit: firstKeyFrameLimit)
        capture.packetCaptureConsumer = store
        capture.setEventHandler { [told] event in
            told.withLock { $0.append(event) }
            told.wakeAll()
        }
    }

    deinit { capture.releaseCapture() }

    /// A capture that has delivered some packets.
    static func running(
        _ machine: StreamingMachine, _ configuration: CameraPacketCapturer.Configuration = .init(desiredFrameRate: 200),
        packets: Int = 8
    ) throws -> PacketRun {
        let run = PacketRun(machine, configuration)
        try run.start()
        guard run.waitForMore(packets) else { throw CaptureRun.NoFrames() }
        return run
    }

    func start() throws(CaptureError) {
        if capture.state == .idle { try capture.initCapture() }
        try capture.startCapture()
    }

    /// Blocks until `count` more packets have come; false when that takes too long.
    func waitForMore(_ count: Int) -> Bool {
        let goal = packets.count + count
        return taken.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0.count >= goal ? () : nil } != nil
    }

    func waitForEvent(_ event: CameraCapturer.Event) -> Bool {
        told.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0.contains(event) ? () : nil } != nil
    }

    /// The frame rate of the track.
    var frameRate: FrameRate? {
        guard case .video(let video) = capture.captureSettings().tracks.first?.media else { return nil }
        return video.frameRate
    }

    /// The first fault in the order of the packets; nil without one.
    var disorder: String? {
        let packets = packets
        guard let first = packets.first else { return "no packet came" }
        if !first.isKeyFrame { return "the first is not a key frame" }
        for (last, next) in zip(packets, packets.dropFirst()) {
            if next.timestamp <= last.timestamp { return "the time goes from \(last.timestamp) to \(next.timestamp)" }
            if next.sequenceNumber <= last.sequenceNumber {
                return "the number goes from \(last.sequenceNumber) to \(next.sequenceNumber)"
            }
            if next.sequenceNumber != last.sequenceNumber + 1, !next.isKeyFrame {
                return "after a loss, before \(next.sequenceNumber), comes no key frame"
            }
        }
        return nil
    }

    /// The node or mappings that are left after the release of the capture; nil without any.
    var leak: String? {
        capture.releaseCapture()
        if camera.isOpen { return "the node is still open" }
        return camera.mappings == 0 ? nil : "\(camera.mappings) mappings are left"
    }
}

/// Keeps packets.
private final class PacketStore: PacketCaptureConsumer {
    let taken = Locked<[MediaPacket]>([])

    func consumePacket(_ packet: MediaPacket) {
        taken.withLock { $0.append(packet) }
        taken.wakeAll()
    }
}
