public import PacketCapturing

/// Packets that look like H.264 in groups of five pictures, with B-frames, and Opus: one of each every interval.
public struct TestPackets: PacketSource {
    /// The identifier of the pictures.
    public static let video: TrackID = 0
    /// The identifier of the sound.
    public static let sound: TrackID = 1
    /// The pictures of a group.
    public static let groupLength = 5

    public let settings: PacketSettings
    public let pacing: PacketPacing
    public let makesKeyFrames: Bool
    private let count: Int?
    private let interval: Duration
    private let lossEvery: Int?
    private let failsAt: Int?
    private let stepBackAt: Int?
    private let pause: (at: Int, length: Duration)?
    private var picture = 0
    private var isSoundNext = false
    private var positionInGroup = 0

    /// - Parameters:
    ///   - count: the pictures of a start; nil for no end.
    ///   - pacing: `clock` or `unpaced`.
    ///   - interval: from picture to picture.
    ///   - hasSound: whether there is sound.
    ///   - lossEvery: one picture in this number is reported as lost.
    ///   - failsAt: the picture in place of which it throws, once.
    ///   - stepBackAt: the picture at which the times begin again.
    ///   - pause: the picture before which time passes; more than ten seconds are a joint of recordings.
    ///   - makesKeyFrames: whether a requested key frame comes at once.
    ///   - isReordered: what the description says of the order of pictures.
    public init(
        count: Int? = nil, pacing: PacketPacing = .clock, interval: Duration = .milliseconds(5), hasSound: Bool = true,
        lossEvery: Int? = nil, failsAt: Int? = nil, stepBackAt: Int? = nil,
        pause: (at: Int, length: Duration)? = nil, makesKeyFrames: Bool = false, isReordered: Bool = false
    ) {
        self.count = count
        self.pacing = pacing
        self.interval = interval
        self.lossEvery = lossEvery
        self.failsAt = failsAt
        self.stepBackAt = stepBackAt
        self.pause = pause
        self.makesKeyFrames = makesKeyFrames
        let avcC: [UInt8] = [1, 0x42, 0, 0x1E, 0xFF, 0xE1, 0, 5] + TestPackets.sps + [1, 0, 3] + TestPackets.pps
        let opusHead: [UInt8] = Array("OpusHead".utf8) + [1, 2, 0x38, 1, 0x80, 0xBB, 0, 0, 0, 0, 0]
        func buffer(_ bytes: [UInt8]) -> PacketBuffer { bytes.withUnsafeBytes { PacketBuffer(copying: $0) } }
        var video = TrackDescription.Video(width: 64, height: 48)
        video.isReordered = isReordered
        let pictures = TrackDescription(
            id: TestPackets.video, codec: .h264, media: .video(video),
            decoderConfiguration: buffer(avcC))
        let sound = TrackDescription(
            id: TestPackets.sound, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: 2)),
            decoderConfiguration: buffer(opusHead))
        var settings = PacketSettings(tracks: [pictures] + (hasSound ? [sound] : []), sourceName: "test packets")
        settings.largestStep = .seconds(10)
        self.settings = settings
    }

    private static let sps: [UInt8] = [0x67, 0x42, 0, 0x1E, 0xAB]
    private static let pps: [UInt8] = [0x68, 0xCE, 0x3C]
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    public mutating func start(_ context: PacketContext) {
        // One that fails goes on behind the failure.
        if failsAt != picture { picture = 0 }
        isSoundNext = false
        positionInGroup = 0
    }

    public mutating func requestKeyFrame() { positionInGroup = 0 }

    public mutating func nextPacket(_ context: PacketContext) throws -> MediaPacket? {
        if isSoundNext {
            isSoundNext = false
            let time = time(of: picture - 1)
            return MediaPacket(
                data: context.makeBuffer(copying: [0xFC, UInt8(truncatingIfNeeded: picture)]), track: TestPackets.sound,
                timestamp: time, duration: interval)
        }
        guard picture != count else { return nil }
        if picture == failsAt {
            picture += 1
            throw CaptureError(.stalled, operation: "test", message: "The source fails on purpose.")
        }
        if let lossEvery, picture % lossEvery == lossEvery - 1 { context.reportLoss(of: TestPackets.video) }
        let isKey = positionInGroup == 0
        positionInGroup = (positionInGroup + 1) % TestPackets.groupLength
        let (code, sps, pps) = (TestPackets.startCode, TestPackets.sps, TestPackets.pps)
        let head = isKey ? code + sps + code + pps + code + [0x65] : code + [0x41]
        let decode = time(of: picture)
        var packet = MediaPacket(
            data: context.makeBuffer(copying: head + [UInt8(truncatingIfNeeded: picture), 0x80]),
            track: TestPackets.video, timestamp: decode + interval * (isKey ? 1 : 2), duration: interval,
            isKeyFrame: isKey, width: 64, height: 48)
        packet.decodeTimestamp = decode
        picture += 1
        isSoundNext = settings.tracks.count > 1
        return packet
    }

    private func time(of picture: Int) -> MediaTime {
        let place = stepBackAt.map { picture >= $0 ? picture - $0 : picture } ?? picture
        let time = MediaTime.zero + .seconds(100) + interval * place
        return pause.map { picture >= $0.at ? time + $0.length : time } ?? time
    }
}
