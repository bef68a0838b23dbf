// An encoder and an output of one's own: grey pictures, as PGM, in one file that `ffmpeg -f pgm_pipe -i grey.pgm` reads.
import Foundation
import MediaPublishing
import PatternCapturer
import Synchronization
import VideoCapturing

extension Codec {
    /// A picture of grey values each (https://netpbm.sourceforge.net/doc/pgm.html).
    static let pgm = Codec(rawValue: "pgm")
}

extension EncoderEntry {
    /// What a publisher makes the encoder by.
    static let pgm = EncoderEntry(name: "pgm", codec: .pgm, summary: "grey pictures, uncompressed") { request in
        PGMEncoder(request.frameRate)
    }
}

/// Each frame becomes a packet that needs no other, so that nothing is held back and each packet is a key frame.
final class PGMEncoder: VideoEncoder {
    private let frameRate: FrameRate
    private(set) var track: TrackDescription?

    init(_ frameRate: FrameRate) { self.frameRate = frameRate }

    func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        guard frame.pixelFormat == .nv12 || frame.pixelFormat == .i420 else {
            throw CodecError(.formatUnsupported, operation: "encode PGM", message: "It takes NV12 and I420.")
        }
        if track == nil {
            let video = TrackDescription.Video(width: frame.width, height: frame.height, frameRate: frameRate)
            track = TrackDescription(id: 0, codec: .pgm, media: .video(video))
        }
        var data = Array("P5 \(frame.width) \(frame.height) 255\n".utf8)
        for row in 0..<frame.height {
            frame.buffer.withRow(row, ofPlane: 0) { data.append(contentsOf: $0) }
        }
        let packet = data.withUnsafeBytes { bytes in
            MediaPacket(
                data: PacketBuffer(copying: bytes), timestamp: frame.timestamp, duration: frameRate.frameInterval,
                width: frame.width, height: frame.height, sequenceNumber: frame.sequenceNumber)
        }
        try output(packet)
    }

    func requestKeyFrame() {}
    func setBitrate(_ bitrate: Int) {}
}

/// A file of packets, one after the other. It is the sink of its packets, too.
final class PacketFile: MediaOutput, PacketSink {
    let name: String
    let kind = "pgm"
    let feed = OutputContext.Feed.packets(.init(codecs: [.pgm]))
    private let file = Mutex<FileHandle?>(nil)
    private let count = Mutex<(packets: Int, bytes: Int)>((0, 0))

    init(_ path: String) { name = path }

    func open(_ context: OutputContext) throws -> OutputContext.Destination {
        try Data().write(to: URL(filePath: name))
        let handle = try FileHandle(forWritingTo: URL(filePath: name))
        file.withLock { $0 = handle }
        return .sink(self)
    }

    func begin(_ tracks: [TrackDescription]) {}

    func write(_ packet: MediaPacket) throws {
        let data = packet.data.withUnsafeBytes { Data($0) }
        try file.withLock { try $0?.write(contentsOf: data) }
        count.withLock { $0 = ($0.packets + 1, $0.bytes + data.count) }
    }

    func finish() throws {
        try file.withLock { file in
            try file?.close()
            file = nil
        }
    }

    var outputStatistics: OutputStatistics {
        let (packets, bytes) = count.withLock { $0 }
        return OutputStatistics(bytes: Int64(bytes), summary: "\(name): \(packets) grey pictures.")
    }
}

let capture = PatternCapturer(format: .nv12(width: 320, height: 240), frameRate: 25)
let publisher = MediaPublisher(video: capture, settings: .init(encoders: [.pgm]))
try publisher.add(PacketFile("grey.pgm"))
let events = publisher.events()
try publisher.start()
try await Task.sleep(for: .seconds(1))
try publisher.stop()
for await event in events { if case .outputsFailed(_, let error) = event { print(error) } }
for output in publisher.statistics.outputs { print(output.statistics.summary) }
