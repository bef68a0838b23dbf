// A capturer over memory that a driver owns and fills repeatedly, written with public API only: frames are lent without a
// copy, and a frame costs no allocation; only when consumers keep too many are they given copies. Checks itself with the conformance suite.
import CapturerTestKit
import Foundation
import VideoCapturing

/// Stands for a driver: fills the buffers that it is given, 200 times per second, and writes their numbers to a pipe.
final class Driver: @unchecked Sendable {
    static let bufferCount = 4
    static let byteCount = 64 * 48 * 3 / 2

    let memory = UnsafeMutableRawPointer.allocate(byteCount: bufferCount * byteCount, alignment: 64)
    let ends: (read: Int32, write: Int32)
    private let lock = NSLock()
    private var free: [UInt8] = []
    private var isStreaming = false

    init() {
        var descriptors: [Int32] = [-1, -1]
        precondition(pipe(&descriptors) == 0)
        ends = (descriptors[0], descriptors[1])
        free.reserveCapacity(Driver.bufferCount)
        Thread.detachNewThread { [weak self] in
            var count: UInt8 = 0
            while let driver = self {
                driver.fillOne(&count)
                usleep(5000)
            }
        }
    }

    deinit {
        close(ends.read)
        close(ends.write)
        memory.deallocate()
    }

    private func fillOne(_ count: inout UInt8) {
        guard var number = lock.withLock({ isStreaming ? free.popLast() : nil }) else { return }
        count &+= 1
        memset(memory + Int(number) * Driver.byteCount, Int32(count), Driver.byteCount)
        _ = write(ends.write, &number, 1)
    }

    func queue(_ number: UInt8) { lock.withLock { free.append(number) } }

    func stream(_ isOn: Bool) {
        lock.withLock {
            isStreaming = isOn
            if !isOn { free.removeAll(keepingCapacity: true) }
        }
    }
}

/// Lends the driver's buffers to frames, and returns them to the driver once no frame holds them.
struct DriverSource: FrameSource {
    let settings = CaptureSettings(format: VideoFormat(.i420, width: 64, height: 48))
    var pacing: FramePacing { .device }

    private enum Holder { case driver, frame }
    private let driver: Driver
    /// Each wraps one of the driver's buffers, once and for all frames.
    private var buffers: [PixelBuffer] = []
    private var holders = [Holder](repeating: .frame, count: Driver.bufferCount)

    init(_ driver: Driver) { self.driver = driver }

    mutating func open() throws {
        buffers = try (0..<Driver.bufferCount).map { number in
            let base = driver.memory + number * Driver.byteCount
            var planes = PlaneList<PixelBuffer.PlaneMemory>()
            planes.append(PixelBuffer.PlaneMemory(base: base, byteCount: 64 * 48, bytesPerRow: 64))
            planes.append(PixelBuffer.PlaneMemory(base: base + 64 * 48, byteCount: 32 * 24, bytesPerRow: 32))
            planes.append(PixelBuffer.PlaneMemory(base: base + 64 * 48 + 32 * 24, byteCount: 32 * 24, bytesPerRow: 32))
            // A frame may be kept for longer than the source lives, so the buffer keeps the driver.
            return try PixelBuffer(wrapping: planes, as: .i420, width: 64, height: 48) { [driver] in
                withExtendedLifetime(driver) {}
            }
        }
    }

    mutating func start(_ context: FrameContext) { driver.stream(true) }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        while !context.mustReturn {
            for number in holders.indices where holders[number] == .frame {
                guard PixelBuffer.isReusable(&buffers[number]) else { continue }
                holders[number] = .driver
                driver.queue(UInt8(number))
            }
            // While frames hold buffers, it looks again soon whether one is free.
            let limit: Duration? = holders.contains(.frame) ? .milliseconds(5) : nil
            guard context.waitForInput(driver.ends.read, atMost: limit) == .ready else { continue }
            var number: UInt8 = 0
            guard read(driver.ends.read, &number, 1) == 1 else { continue }
            let buffer = buffers[Int(number)]
            // One buffer always stays with the driver: where consumers keep the others, they are given copies.
            guard holders.count(where: { $0 == .driver }) > 2 else {
                defer { driver.queue(number) }
                return try context.makeFrame(settings.format) { pixels in
                    for plane in buffer.planes.indices {
                        for row in 0..<buffer.planes[plane].rows {
                            buffer.withRow(row, ofPlane: plane) { source in
                                pixels.withRow(row, ofPlane: plane) { $0.copyMemory(from: source) }
                            }
                        }
                    }
                }
            }
            holders[Int(number)] = .frame
            return SourceFrame(buffer)
        }
        return nil
    }

    mutating func stop() {
        driver.stream(false)
        // What the driver has filled meanwhile is of the past.
        var number: UInt8 = 0
        var input = pollfd(fd: driver.ends.read, events: Int16(POLLIN), revents: 0)
        while poll(&input, 1, 10) > 0 { _ = read(driver.ends.read, &number, 1) }
        holders = holders.map { _ in .frame }
    }
}

/// Counts frames, and the buffers that they came in.
final class Counter: VideoCaptureConsumer, @unchecked Sendable {
    private(set) var frames = 0
    private(set) var buffers: Set<ObjectIdentifier> = []
    func consumeFrame(_ frame: VideoFrame) {
        frames += 1
        buffers.insert(ObjectIdentifier(frame.buffer))
    }
}

let counter = Counter()
let publisher = VideoPublisher(SourceCapturer(DriverSource(Driver())))
try publisher.add(counter)
try publisher.start()
try await Task.sleep(for: .seconds(1))
publisher.close()
print("\(counter.frames) frames in \(counter.buffers.count) buffers")
guard counter.frames > 20, counter.buffers.count <= Driver.bufferCount else { exit(1) }

let suite = ConformanceSuite(name: "driver memory") { SourceCapturer(DriverSource(Driver())) }
let report = await suite.runDetached()
print("\(report.failures.count) of \(report.checks.count) rules of the contract broken")
for failure in report.failures { print(failure) }
exit(report.failures.isEmpty ? 0 : 1)
