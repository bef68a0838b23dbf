import FFmpegContainers
import H264Bitstream
import StreamCapturer
import TestTools
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A byte stream and its access units.
struct Stream: Sendable {
    let bytes: [UInt8]
    let units: [[UInt8]]
    let keyFrames: [Int]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var parser = AccessUnitParser()
        var units: [[UInt8]] = []
        var keyFrames: [Int] = []
        func add(_ unit: AccessUnitParser.Unit) {
            if unit.isKeyFrame { keyFrames.append(units.count) }
            units.append(Array(unit.bytes))
        }
        bytes.withUnsafeBytes { parser.append($0, output: add) }
        parser.flush(output: add)
        self.units = units
        self.keyFrames = keyFrames
    }

    /// 60 pictures in groups of 10; made once.
    static let standard = Result { Stream(try h264Clip(frames: 60, keyFrameInterval: 10)) }

    /// The units behind lengths of four bytes.
    var lengthPrefixed: [UInt8] {
        var data: [UInt8] = []
        bytes.withUnsafeBytes { LengthPrefixed.append(annexB: $0, to: &data) }
        return data
    }

    /// In a container that ffmpeg makes.
    func muxed(_ format: String, in folder: TemporaryFolder) throws -> [UInt8] {
        let path = try folder.write(bytes, to: "in.h264")
        return try run("ffmpeg", ["-v", "error", "-r", "30", "-i", path, "-c", "copy", "-f", format, "-"])
    }
}

extension StreamCapturer {
    /// Connected to a sender, or listening; with less timeout than for real senders.
    static func test(
        _ url: String, _ change: (inout StreamCapturer.Configuration) -> Void = { _ in }
    ) -> StreamCapturer {
        var configuration = StreamCapturer.Configuration()
        configuration.connectTimeout = .seconds(20)
        configuration.stallTimeout = .seconds(20)
        configuration.reconnectDelays = [.milliseconds(5)]
        change(&configuration)
        return StreamCapturer(
            url: url, decoders: [H264Decoder.factory], demuxers: [.ffmpeg], configuration: configuration)
    }
}

/// The error that a capture does not begin with.
func failure(of capture: StreamCapturer) -> CaptureError? {
    defer { capture.releaseCapture() }
    do throws(CaptureError) {
        try capture.initCapture()
        return nil
    } catch {
        return error
    }
}

/// What a capture tells.
final class EventLog: Sendable {
    private let entries = Locked<[StreamCapturer.Event]>([])

    func add(_ entry: StreamCapturer.Event) {
        entries.withLock { $0.append(entry) }
        entries.wakeAll()
    }

    var all: [StreamCapturer.Event] { entries.withLock { $0 } }

    /// Waits for an event.
    func await(_ limit: Duration = .seconds(60), _ condition: (StreamCapturer.Event) -> Bool) -> Bool {
        let end = MonotonicClock().now.advanced(by: limit)
        return entries.wait(until: end) { $0.contains(where: condition) ? () : nil } != nil
    }
}
