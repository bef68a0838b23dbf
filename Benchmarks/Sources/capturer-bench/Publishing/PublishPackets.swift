import CAllocationCount
import MediaContainers
import VideoCapturing
import WebRTCPublisher

#if canImport(Glibc)
    import Glibc
#endif

/// The packets of an IVF file of VP8, again and again at 30 frames per second, live by WebRTC: what publishing costs
/// without an encoder.
///
/// Prints peers, CPU milliseconds per second, peak resident megabytes, megabits per second of a peer, how late the thread
/// that hands packets over was, p99, in milliseconds (on a machine with too much to do the figures mean nothing), and heap
/// allocations per packet, libnice's included. With `--due` the moments follow when each frame was handed over;
/// `--stacks` says who allocates.
func publishPackets(_ arguments: inout Arguments) throws {
    let path = try arguments.required("input")
    let url = try arguments.required("to")
    let room = try arguments.value("room")
    let pin = try arguments.value("pin")
    let peers = try arguments.count("peers", default: 1)
    let seconds = try arguments.count("seconds", default: 10)
    let showsDue = arguments.flag("due")
    let printsStacks = arguments.flag("stacks")
    var configuration = WebRTCOutput.Configuration()
    configuration.allowsPlainHTTP = true

    let reader = try IVFReader(InputFile(path: path))
    let track = TrackDescription(
        id: 0, codec: .vp8, media: .video(TrackDescription.Video(width: reader.width, height: reader.height)))
    var clip: [MediaPacket] = []
    // Copies, since the reader's buffers are few.
    while let packet = try reader.nextPacket() {
        let data = packet.data.withUnsafeBytes { PacketBuffer(copying: $0) }
        clip.append(MediaPacket(data: data, timestamp: .zero, isKeyFrame: packet.isKeyFrame ?? false))
    }
    guard clip.first?.isKeyFrame == true else { throw UsageError("\(path) does not begin with a key frame of VP8") }

    let outputs = try (0..<peers).map { _ -> WebRTCOutput in
        try room.map { try JanusOutput(url, room: JanusOutput.Room($0, pin: pin), configuration: configuration) }
            ?? WHIPOutput(url, configuration: configuration)
    }
    defer { for output in outputs { output.finish() } }
    for output in outputs { try output.begin([track]) }
    let limit = MonotonicClock().now.advanced(by: .seconds(30))
    while !outputs.allSatisfy({ $0.state == .live }) {
        guard MonotonicClock().now < limit else { throw UsageError("not all are live: \(outputs.map(\.state))") }
        usleep(10_000)
    }

    var lateness: [Double] = []
    var handedOver: [Double] = []
    lateness.reserveCapacity(clip.count + seconds * 30)
    handedOver.reserveCapacity(clip.count + seconds * 30)
    let begin = MonotonicClock().now
    func play(_ frames: Range<Int>) throws {
        for index in frames {
            let due = begin.advanced(by: .nanoseconds(Int64(index) * 1_000_000_000 / 30))
            let wait = due - MonotonicClock().now
            if wait > .zero { usleep(UInt32(wait.seconds * 1e6)) }
            lateness.append((MonotonicClock().now - due).seconds * 1e3)
            handedOver.append(wallClock)
            var packet = clip[index % clip.count]
            packet.timestamp = due
            for output in outputs { try output.write(packet) }
        }
    }
    // Until each has begun with a key frame, and has found the bitrate.
    let warmUp = min(clip.count, 150)
    try play(0..<warmUp)
    let before = outputs.map(\.statistics)
    lateness.removeAll(keepingCapacity: true)
    handedOver.removeAll(keepingCapacity: true)
    allocation_count_begin()
    let used = try Usage.of { try play(warmUp..<warmUp + seconds * 30) }
    let allocations = allocation_count_end().allocations
    let after = outputs.map(\.statistics)
    let sent = zip(after, before).reduce(0) { $0 + $1.0.bytesSent - $1.1.bytesSent }
    let packets = zip(after, before).reduce(0) { $0 + $1.0.packetsSent - $1.1.packetsSent }
    let resident = Double(peakResidentBytes) / 1e6
    let late = lateness.sorted()[lateness.count * 99 / 100]
    print(
        peers, used.cpu / used.wall * 1e3, resident, Double(sent) * 8 / used.wall * 1e3 / Double(peers), late,
        Double(allocations) / Double(packets))
    if printsStacks { allocation_count_print_stacks(2) }
    guard showsDue else { return }
    for time in handedOver { print("due", time.fixed(6)) }
}

/// Seconds since 1970.
private var wallClock: Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The largest amount of memory so far.
private var peakResidentBytes: Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss * 1024
}
