import FileCapturer
import MediaContainers
import TestTools
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A plain picture whose luma is ten times its number.
func picture(_ value: Int, _ format: PixelFormat = .i420) throws -> VideoFrame {
    let buffer = try PixelBuffer.make(format, width: 18, height: 10) { pixels in
        for plane in 0..<format.planeCount { pixels.fill(plane: plane, with: UInt8(value % 20 * 10 + plane)) }
    }
    return VideoFrame(
        buffer: buffer, timestamp: MediaTime(nanoseconds: Int64(value) * 40_000_000), estimatedFrameRate: 25)
}

/// A clip of 25 frames a second.
func writeY4M(_ path: String, frames: Int) throws {
    let writer = Y4MWriter(try OutputFile(path: path, overwrite: true), rate: 25)
    for value in 0..<frames { try writer.writeFrame(picture(value)) }
    try writer.finish()
}

/// The number of a plain picture.
func number(_ frame: VideoFrame) -> Int { frame.buffer.withRow(0, ofPlane: 0) { (Int($0[0]) + 5) / 10 } }

/// The times of frames in milliseconds after the first.
func times(_ frames: [VideoFrame]) -> [Int64] {
    frames.map { ($0.timestamp - frames[0].timestamp).nanoseconds / 1_000_000 }
}

/// Pictures at any times, as other readers give them.
final class ListReader: FrameReader {
    let format: VideoFormat
    let color = ColorDescription(matrix: .bt709, range: .full)
    let estimatedFrameCount: Int64? = nil
    let canRewind: Bool
    let orientation: VideoOrientation
    let isMirrored: Bool
    var isInterlaced = false
    var makesPicture: (Int) throws -> PixelBuffer = { try picture($0).buffer }
    let duration: Duration?
    private let milliseconds: [Int]
    private let damagedAtEnd: UInt64
    private let onSeek: () throws -> Void
    private(set) var damagedPackets: UInt64 = 0
    private var next = 0

    init(
        _ milliseconds: [Int], rate: FrameRate? = nil, canRewind: Bool = true, orientation: VideoOrientation = .up,
        isMirrored: Bool = false, duration: Duration? = nil, damagedAtEnd: UInt64 = 0,
        onSeek: @escaping () throws -> Void = {}
    ) {
        self.milliseconds = milliseconds
        self.canRewind = canRewind
        self.orientation = orientation
        self.isMirrored = isMirrored
        self.duration = duration
        self.damagedAtEnd = damagedAtEnd
        self.onSeek = onSeek
        format = VideoFormat(.i420, width: 18, height: 10, estimatedFramesPerSecond: rate)
    }

    func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)? {
        guard next < milliseconds.count else {
            damagedPackets += damagedAtEnd
            return nil
        }
        defer { next += 1 }
        return (try makesPicture(next), .milliseconds(milliseconds[next]))
    }

    func rewind() throws { next = 0 }

    func seek(to time: Duration) throws {
        try onSeek()
        let shown = milliseconds.lastIndex { .milliseconds($0) <= time }
        next = shown ?? 0
    }

    /// A capture of such a reader.
    static func capture(
        in folder: TemporaryFolder, _ playback: FileCapturer.Playback, clock: any CaptureClock,
        _ make: @escaping @Sendable (FrameReaderFactory.Request) -> ListReader
    ) throws -> FileCapturer {
        let file = try OutputFile(path: folder.file("clip.list"), overwrite: true)
        try withUnsafeBytes(of: UInt32(1)) { try file.write($0) }
        try file.close()
        let factory = FrameReaderFactory(name: "list") { make($0) }
        return FileCapturer(path: folder.file("clip.list"), readers: [factory], playback: playback, clock: clock)
    }
}
