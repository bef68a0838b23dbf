import Glibc
import MediaContainers
import TestTools
import VideoCapturing

/// A coded clip, in the packets of an encoder.
struct Clip: Sendable {
    let track: TrackDescription
    let packets: [MediaPacket]

    static let width = 128
    static let height = 96
    static let rate: FrameRate = 30

    /// H.264 by libx264 with start codes, parameter sets before each IDR picture, and a key frame in ten.
    static let h264 = Result { try makeH264(frames: 120) }
    /// VP8 by libvpx.
    static let vp8 = Result { try makeVP8(frames: 120) }

    private static func source(_ frames: Int) -> [String] {
        [
            "-nostdin", "-v", "error", "-threads", "1", "-f", "lavfi", "-i", "testsrc2=s=\(width)x\(height):r=30",
            "-frames:v", "\(frames)", "-pix_fmt", "yuv420p",
        ]
    }

    private static func makeH264(frames: Int) throws -> Clip {
        let stream = try run(
            "ffmpeg",
            source(frames) + [
                "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "10", "-keyint_min", "10",
                "-sc_threshold", "0", "-bsf:v", "h264_metadata=aud=insert", "-f", "h264", "-",
            ])
        var units: [[UInt8]] = []
        for unit in nalUnits(stream) {
            if unit[0] & 0x1F == 9 { units.append([]) }
            units[units.count - 1] += [0, 0, 0, 1] + unit
        }
        let packets = units.enumerated().map { index, bytes in
            packet(bytes, index, isKeyFrame: nalUnits(bytes).contains { $0[0] & 0x1F == 5 })
        }
        return Clip(track: describe(.h264), packets: packets)
    }

    private static func makeVP8(frames: Int) throws -> Clip {
        let folder = TemporaryFolder()
        try run(
            "ffmpeg", source(frames) + ["-c:v", "libvpx", "-g", "10", "-deadline", "realtime", folder.file("a.ivf")])
        let reader = try IVFReader(InputFile(path: folder.file("a.ivf")))
        var packets: [MediaPacket] = []
        while let next = try reader.nextPacket() {
            let bytes = next.data.withUnsafeBytes { Array($0) }
            packets.append(packet(bytes, packets.count, isKeyFrame: bytes[0] & 1 == 0))
        }
        return Clip(track: describe(.vp8), packets: packets)
    }

    static func describe(_ codec: Codec, id: TrackID = 0, orientation: VideoOrientation = .up) -> TrackDescription {
        TrackDescription(
            id: id, codec: codec,
            media: .video(.init(width: width, height: height, orientation: orientation, frameRate: rate)))
    }

    static func packet(_ bytes: [UInt8], _ index: Int, isKeyFrame: Bool) -> MediaPacket {
        MediaPacket(
            data: bytes.withUnsafeBytes { PacketBuffer(copying: $0) },
            timestamp: MediaTime(nanoseconds: 7_000_000_000).advanced(by: rate.time(ofFrame: Int64(index))),
            duration: rate.frameInterval, isKeyFrame: isKeyFrame, width: width, height: height,
            sequenceNumber: UInt64(index))
    }

    /// The packets with lengths in place of start codes, and avcC as the configuration.
    func lengthPrefixed() -> Clip {
        var track = track
        let sets = nalUnits(bytes(of: packets[0]))
        let sps = sets.first { $0[0] & 0x1F == 7 } ?? []
        let pps = sets.first { $0[0] & 0x1F == 8 } ?? []
        let avcC: [UInt8] =
            [1, sps[1], sps[2], sps[3], 0xFF, 0xE1, 0, UInt8(sps.count)] + sps + [1, 0, UInt8(pps.count)] + pps
        track.decoderConfiguration = avcC.withUnsafeBytes { PacketBuffer(copying: $0) }
        let packets = packets.map { packet in
            var packet = packet
            var data: [UInt8] = []
            for unit in nalUnits(bytes(of: packet)) {
                data += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: unit.count >> $0) } + unit
            }
            packet.data = data.withUnsafeBytes { PacketBuffer(copying: $0) }
            return packet
        }
        return Clip(track: track, packets: packets)
    }
}

func bytes(of packet: MediaPacket) -> [UInt8] { packet.data.withUnsafeBytes { Array($0) } }

/// The NAL units of a stream with start codes.
func nalUnits(_ stream: [UInt8]) -> [[UInt8]] {
    var starts: [Int] = []
    var index = 0
    while index + 2 < stream.count {
        if stream[index] == 0, stream[index + 1] == 0, stream[index + 2] == 1 {
            starts.append(index + 3)
            index += 3
        } else {
            index += 1
        }
    }
    return starts.indices.map { number in
        var end = number + 1 < starts.count ? starts[number + 1] - 3 : stream.count
        while end > starts[number], stream[end - 1] == 0 { end -= 1 }
        return Array(stream[starts[number]..<end])
    }
}

/// The NAL units of a file, as ffmpeg copies them out.
func nalUnits(ofFile path: String, _ input: [String] = []) throws -> [[UInt8]] {
    nalUnits(
        try run(
            "ffmpeg",
            ["-nostdin", "-v", "error"] + input
                + ["-i", path, "-c", "copy", "-bsf:v", "h264_mp4toannexb", "-f", "h264", "-"]))
}

/// The numbers that ffprobe tells of each packet.
func probe(_ path: String, _ entries: String, _ more: [String] = []) throws -> [[String]] {
    let text = String(
        decoding: try run(
            "ffprobe", ["-v", "error"] + more + ["-show_entries", "packet=\(entries)", "-of", "csv=p=0", path]),
        as: UTF8.self)
    return text.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
}

func countPackets(_ path: String) throws -> Int {
    var status = stat()
    guard stat(path, &status) == 0, status.st_size > 0 else { return 0 }
    return try probe(path, "pts_time").count
}

/// Runs `body`, which must throw a `MediaFileError`, and returns it.
func mediaFileError<Result>(_ body: () throws -> Result) -> MediaFileError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? MediaFileError
    }
}
