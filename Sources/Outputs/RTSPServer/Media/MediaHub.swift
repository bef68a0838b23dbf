import CaptureCore
import NIOCore
import RTP

/// The tracks of a server and the clients to which they go. Used on its event loop only, but for ``loop``, ``counters`` and
/// ``statistics``.
///
/// Each frame is cut into packets once, and all clients get the same bytes. `@unchecked Sendable`: everything that changes
/// is used on the loop alone.
final class MediaHub: @unchecked Sendable {
    /// One track and what sends it.
    struct Channel: Sendable {
        let track: TrackID
        let sender: RTPSender
    }

    let loop: any EventLoop
    let configuration: RTSPServer.Configuration
    let statistics: Locked<RTSPServer.Statistics>
    private let clock = MonotonicClock()
    private let warn: @Sendable (String) -> Void
    /// The description of the tracks; nil before the first packet.
    private(set) var media: PlainSession?
    private var channels: [Channel] = []
    private(set) var tracks: [TrackDescription] = []
    private var hasVideo = false
    private var warnedProblems: Set<String> = []
    /// The packets since the last key frame.
    private var group: [FramedPackets] = []
    private var groupSize = 0
    private var groupBegan = MediaTime(nanoseconds: .min)
    private var playbacks: [Playback] = []
    /// Called once the tracks are known.
    var onBegin: () -> Void = {}
    private var limiter: KeyFrameLimiter
    private var feedback: PacketFeedback?
    private var nextReport = MediaTime.zero
    /// Set where datagrams are offered.
    var datagrams: DatagramSender?
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RTPSender.maximumReportSize, alignment: 16)

    /// A kept group that is older is not sent where a key frame can be asked for: the client would begin behind the others.
    static let freshGroup = Duration.milliseconds(300)
    /// How long a key frame that was asked for is waited for, before the kept group is sent in its place.
    static let keyFrameTimeout = Duration.milliseconds(500)
    /// The shortest time between two requests for a key frame of a client that has lost frames.
    static let recoveryInterval = Duration.seconds(2)
    /// The time between two sender reports.
    private static let reportInterval = Duration.seconds(1)

    init(
        _ loop: any EventLoop, _ configuration: RTSPServer.Configuration, statistics: Locked<RTSPServer.Statistics>,
        warn: @escaping @Sendable (String) -> Void
    ) {
        self.loop = loop
        self.configuration = configuration
        self.statistics = statistics
        self.warn = warn
        limiter = KeyFrameLimiter(interval: configuration.keyFrameInterval)
    }

    deinit { buffer.deallocate() }

    // MARK: Tracks

    func begin(_ media: PlainSession, _ channels: [Channel], _ tracks: [TrackDescription]) {
        self.media = media
        self.tracks = tracks
        self.channels = channels
        hasVideo = channels.contains { !$0.sender.configuration.format.isAudio }
        onBegin()
    }

    func connect(_ feedback: PacketFeedback?) { self.feedback = feedback }

    /// Takes a packet of the encoder and sends it to all clients.
    func take(_ packet: MediaPacket) {
        guard let index = channels.firstIndex(where: { $0.track == packet.track }) else { return }
        let now = clock.now
        let sender = channels[index].sender
        let isVideo = !sender.configuration.format.isAudio
        var item = FramedPackets(
            track: index, isRandomAccess: isVideo ? packet.isKeyFrame : !hasVideo,
            capacity: packet.data.count + packet.data.count / 32 + 128, time: now)
        item.frameTime = packet.timestamp
        sender.send(packet, at: now) { item.append($0.bytes) }
        if let problem = sender.imageProblem, warnedProblems.insert(problem).inserted {
            warn("\(problem) Such images are left out of the stream.")
        }
        guard item.bytes.readableBytes > 0 else { return }
        if isVideo, packet.isKeyFrame { limiter.didSendKeyFrame() }
        keep(item, now)
        deliver(item, now)
    }

    private func keep(_ item: FramedPackets, _ now: MediaTime) {
        if item.isRandomAccess {
            group = []
            groupSize = 0
            groupBegan = now
        } else if group.isEmpty {
            return
        }
        group.append(item)
        groupSize += item.bytes.readableBytes
        // A group that is too long to be sent at once is useless to a new client.
        if groupSize > configuration.limits.waitingBytes { group = [] }
    }

    private func deliver(_ item: FramedPackets, _ now: MediaTime) {
        var targets: [Playback] = []
        for playback in playbacks where playback.takes(item.track) {
            var item = item
            if !item.isRandomAccess, !needsKeyFrame(playback) { item.isRandomAccess = true }
            let isBeginning = playback.queue.awaitsRandomAccess && item.isRandomAccess
            if isBeginning {
                playback.announce(starts(of: [item], for: playback))
                sendReports(to: [playback], now)
            }
            if playback.isInterleaved {
                push(item, to: playback, now)
            } else if isBeginning || !playback.queue.awaitsRandomAccess {
                if isBeginning { playback.queue.begin(with: [], at: now) }
                targets.append(playback)
            }
        }
        if !targets.isEmpty { datagrams?.send(item, to: targets) }
    }

    /// Whether a client begins with a key frame: not one that asks for the sound alone.
    private func needsKeyFrame(_ playback: Playback) -> Bool {
        channels.indices.contains { !channels[$0].sender.configuration.format.isAudio && playback.takes($0) }
    }

    private func push(_ item: FramedPackets, to playback: Playback, _ now: MediaTime) {
        if !playback.queue.push(item) {
            statistics.withLock { $0.gaps += 1 }
            if !playback.hasWarned {
                playback.hasWarned = true
                warn(
                    "\(playback.client) takes less than is sent, so groups of pictures are left out for it; the others are "
                        + "not affected. Lower the bitrate, or look at its network.")
            }
        }
        playback.drain(at: now)
        recover(playback, now)
    }

    /// Asks for a key frame once a client that has lost frames takes packets again.
    private func recover(_ playback: Playback, _ now: MediaTime) {
        guard playback.queue.awaitsRandomAccess, playback.queue.gaps > 0, playback.blockedSince == nil,
            now.nanoseconds(since: playback.lastRecovery) >= MediaHub.recoveryInterval.nanoseconds
        else { return }
        playback.lastRecovery = now
        requestKeyFrame()
    }

    // MARK: Clients

    /// Sends to a client from now on, beginning with a key frame.
    func add(_ playback: Playback) {
        let now = clock.now
        playbacks.append(playback)
        for source in playback.sources { datagrams?.playbacks[source] = playback }
        statistics.withLock { $0.sessions += 1 }
        if joinsOthers(playback) { return begin(playback, with: [], now) }
        // Sound alone begins with its next packet.
        if needsKeyFrame(playback) {
            let age = now.nanoseconds(since: groupBegan)
            if !group.isEmpty, feedback == nil || age < MediaHub.freshGroup.nanoseconds {
                return begin(playback, with: group, now)
            }
            requestKeyFrame()
        }
        let waiting = NIOLoopBound((hub: self, playback: playback), eventLoop: loop)
        loop.scheduleTask(in: TimeAmount(MediaHub.keyFrameTimeout)) {
            let (hub, playback) = waiting.value
            guard playback.queue.awaitsRandomAccess, playback.queue.gaps == 0,
                hub.playbacks.contains(where: { $0 === playback })
            else { return }
            guard !hub.group.isEmpty, hub.needsKeyFrame(playback) else { return playback.announce([:]) }
            hub.begin(playback, with: hub.group, hub.clock.now)
        }
    }

    func remove(_ playback: Playback) {
        for source in playback.sources where datagrams?.playbacks[source] === playback {
            datagrams?.playbacks[source] = nil
        }
        guard let index = playbacks.firstIndex(where: { $0 === playback }) else { return }
        playbacks.remove(at: index)
        statistics.withLock { $0.add(playback) }
    }

    private func begin(_ playback: Playback, with packets: [FramedPackets], _ now: MediaTime) {
        guard !joinsOthers(playback) else {
            playback.announce([:])
            playback.queue.begin(with: [], at: now)
            return requestKeyFrame()
        }
        let wanted = packets.filter { playback.takes($0.track) }
        playback.announce(starts(of: wanted, for: playback))
        if playback.isInterleaved {
            playback.queue.begin(with: reports(for: playback, now) + wanted, at: now)
            playback.drain(at: now)
        } else {
            playback.queue.begin(with: [], at: now)
            for item in reports(for: playback, now) + wanted { datagrams?.send(item, to: [playback]) }
        }
    }

    /// Whether the packets of a client go to a group where others get them already.
    private func joinsOthers(_ playback: Playback) -> Bool {
        guard let group = playback.multicast else { return false }
        return playbacks.contains {
            $0 !== playback && $0.multicast === group && !$0.queue.awaitsRandomAccess
        }
    }

    /// The group of clients that have reached the server at one of its addresses; nil without multicast.
    func multicastGroup(at local: SocketAddress?) throws -> MulticastGroup? {
        guard let settings = configuration.multicast else { return nil }
        let place = try MulticastGroup.origin(for: local)
        return try playbacks.lazy.compactMap(\.multicast).first { $0.origin == place }
            ?? MulticastGroup(settings, from: place)
    }

    /// Where the tracks of a client begin that gets these packets first, and then all others.
    private func starts(of packets: [FramedPackets], for playback: Playback) -> [Int: TrackStart] {
        guard let time = packets.first?.frameTime else { return [:] }
        var starts: [Int: TrackStart] = [:]
        for index in channels.indices where playback.takes(index) {
            let first = packets.first { $0.track == index }?.sequenceNumber
            let sender = channels[index].sender
            starts[index] = TrackStart(
                sequenceNumber: first ?? sender.nextSequenceNumber, timestamp: sender.timestamp(at: time))
        }
        return starts
    }

    /// Asks the encoder for a key frame, at most one in a while.
    func requestKeyFrame() {
        let now = clock.now
        guard limiter.request(at: now) else {
            guard let due = limiter.due else { return }
            let hub = self
            loop.scheduleTask(in: .nanoseconds(max(0, due.nanoseconds(since: now)))) {
                if hub.limiter.takeDue(at: hub.clock.now) { hub.askForKeyFrame() }
            }
            return
        }
        askForKeyFrame()
    }

    private func askForKeyFrame() {
        guard let feedback else { return }
        statistics.withLock { $0.keyFramesAsked += 1 }
        feedback.requestKeyFrame()
    }

    /// Takes a report of a client.
    func takeReport(_ bytes: UnsafeRawBufferPointer, of playback: Playback) {
        let now = clock.now
        playback.lastSign = now
        var isKeyFrameNeeded = false
        var reports: UInt64 = 0
        playback.parser.parse(bytes, at: now) { event in
            if case .reception = event { reports += 1 }
            for channel in channels where channel.sender.handle(event, at: now, output: { _ in }) {
                isKeyFrameNeeded = true
            }
        }
        if reports > 0 { statistics.withLock { $0.reports += reports } }
        if isKeyFrameNeeded { requestKeyFrame() }
    }

    // MARK: Reports

    /// Sends reports that are due, and looks at slow clients; call it a few times per second.
    func tick() {
        let now = clock.now
        for playback in playbacks where playback.isInterleaved {
            playback.drain(at: now)
            recover(playback, now)
        }
        publishClients()
        guard now >= nextReport else { return }
        nextReport = now.advanced(by: MediaHub.reportInterval)
        sendReports(to: playbacks.filter { !$0.queue.awaitsRandomAccess }, now)
    }

    private func sendReports(to receivers: [Playback], _ now: MediaTime) {
        for playback in MediaHub.oncePerGroup(receivers) {
            for report in reports(for: playback, now) { send(report, to: playback, now) }
        }
    }

    /// Without the clients whose datagrams those of another one are.
    private static func oncePerGroup(_ playbacks: [Playback]) -> [Playback] {
        var groups: Set<ObjectIdentifier> = []
        return playbacks.filter { $0.multicast.map { groups.insert(ObjectIdentifier($0)).inserted } ?? true }
    }

    private func send(_ item: FramedPackets, to playback: Playback, _ now: MediaTime) {
        guard playback.isInterleaved else {
            datagrams?.send(item, to: [playback])
            return
        }
        // Behind packets that wait it would be late.
        guard playback.queue.isEmpty, let connection = playback.connection, connection.isWritable,
            case .interleaved(let channels)? = playback.transports[item.track]
        else { return }
        connection.send(item.bytes(on: channels))
    }

    private func reports(for playback: Playback, _ now: MediaTime) -> [FramedPackets] {
        channels.indices.filter { playback.takes($0) }.compactMap { makeReport($0, isLast: false, now) }
    }

    private func makeReport(_ index: Int, isLast: Bool, _ now: MediaTime) -> FramedPackets? {
        let sender = channels[index].sender
        let size = isLast ? sender.writeGoodbye(into: buffer, at: now) : sender.writeReport(into: buffer, at: now)
        guard size > 0 else { return nil }
        var item = FramedPackets(track: index, isReport: true, capacity: size + 8, time: now)
        item.append(UnsafeRawBufferPointer(rebasing: buffer[..<size]))
        return item
    }

    /// Says to all clients that the streams end.
    func sayGoodbye() {
        let now = clock.now
        for playback in MediaHub.oncePerGroup(playbacks) {
            for index in channels.indices where playback.takes(index) {
                if let item = makeReport(index, isLast: true, now) { send(item, to: playback, now) }
            }
        }
    }

    /// Leaves the state of the clients where any thread can read it.
    private func publishClients() {
        let clients = playbacks.map { RTSPServer.Statistics.Client($0) }
        statistics.withLock { $0.clients = clients }
    }
}

extension RTSPServer.Statistics {
    /// Adds a client that has left.
    fileprivate mutating func add(_ playback: Playback) {
        bytesOfPastClients += playback.bytesSent
        framesOfPastClients += playback.framesSent
        droppedOfPastClients += playback.queue.framesDropped
        clients.removeAll { $0.address == playback.client }
    }
}

extension RTSPServer.Statistics.Client {
    fileprivate init(_ playback: Playback) {
        self.init(address: playback.client, isInterleaved: playback.isInterleaved)
        framesSent = playback.framesSent
        bytesSent = playback.bytesSent
        framesDropped = playback.queue.framesDropped
        isBlocked = playback.blockedSince != nil
    }
}
