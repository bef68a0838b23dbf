import PipeWireCapturer
import PipeWireOutput
import TestTools
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A camera of our own that shows numbered pictures, one each few milliseconds, until it is stopped.
final class NumberedCamera: Sendable {
    let camera: PipeWireCamera
    private let isStopped = Locked(false)
    private let hasEnded = Locked(false)
    let timestamps = Locked<[MediaTime]>([])

    init(_ server: String, name: String = "Test camera", size: PixelSize = PixelSize(width: 64, height: 48)) throws {
        let made = PipeWireCamera(.init(name: name, frameRate: 100, server: server))
        camera = made
        try made.open()
        startThread { [self] in
            var number = 0
            while !isStopped.withLock({ $0 }) {
                let now = MonotonicClock().now
                guard let pixels = try? NumberedCamera.picture(number, size) else { break }
                timestamps.withLock { $0.append(now) }
                camera.consumeFrame(VideoFrame(buffer: pixels, timestamp: now))
                number += 1
                usleep(10_000)
            }
            hasEnded.withLock { $0 = true }
            hasEnded.wakeAll()
        }
    }

    func stop() {
        isStopped.withLock { $0 = true }
        _ = hasEnded.wait(until: MonotonicClock().now + .seconds(60)) { $0 ? true : nil }
        camera.close()
    }

    /// Each sample follows from its place and the number.
    static func picture(_ number: Int, _ size: PixelSize) throws -> PixelBuffer {
        try PixelBuffer.make(.nv12, width: size.width, height: size.height) { pixels in
            for plane in 0..<2 {
                pixels.fill(plane: plane) { column, row in sample(number, plane, column, row) }
            }
        }
    }

    private static func sample(_ number: Int, _ plane: Int, _ column: Int, _ row: Int) -> UInt8 {
        // The first pixels are the number.
        if plane == 0, row == 0, column < 4 { return UInt8(truncatingIfNeeded: number >> (8 * column)) }
        return UInt8(truncatingIfNeeded: number &* 7 &+ plane &* 50 &+ column &* 3 &+ row &* 5)
    }

    /// The number of a picture; nil when any sample is another.
    static func number(of buffer: PixelBuffer) -> Int? {
        guard buffer.pixelFormat == .nv12 else { return nil }
        let number = buffer.withRow(0, ofPlane: 0) { row in
            (0..<4).reduce(0) { $0 | Int(row[$1]) << (8 * $1) }
        }
        for plane in 0..<2 {
            for row in 0..<buffer.planes[plane].rows {
                let isRight = buffer.withRow(row, ofPlane: plane) { bytes in
                    bytes.indices.allSatisfy { bytes[$0] == sample(number, plane, $0, row) }
                }
                if !isRight { return nil }
            }
        }
        return number
    }
}

extension PipeWireCapturer {
    /// A capture of a test's node.
    static func test(
        _ server: String, node: String? = "Test camera",
        _ change: (inout PipeWireCapturer.Configuration) -> Void = { _ in }
    ) -> PipeWireCapturer {
        var configuration = PipeWireCapturer.Configuration(node: node, server: server, frameRate: 1000)
        change(&configuration)
        return PipeWireCapturer(configuration)
    }
}
