import NoiseCapturer
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Resident memory early and late in a long run.
struct MemoryBenchmark {
    private let effort: Effort
    /// What may come of the allocator's and the kernel's own doings.
    private let toleranceKiB = 256

    init(_ effort: Effort) {
        self.effort = effort
    }

    func run() throws {
        Report.title("Resident memory over many frames")
        Report.text("Noise of 16×16 pixels, as fast as it is taken; the process's resident memory in KiB.")
        let runs = [
            try noiseToNull(frames: effort.frames(1_000_000)), try noiseToVP8(frames: effort.frames(200_000)),
        ]
        Report.table(
            ["path", "frames", "at 10 %", "at 100 %", "growth"],
            runs.map { [$0.name, "\($0.frames)", "\($0.early)", "\($0.late)", "\($0.late - $0.early)"] })
        Report.goal(
            "Flat, to within \(toleranceKiB) KiB", isMet: runs.allSatisfy { $0.late - $0.early <= toleranceKiB })
    }

    private struct Run {
        var name: String
        var frames: Int
        var early = 0
        var late = 0
    }

    private func noiseToNull(frames: Int) throws -> Run {
        let result = Box(Run(name: "noise → queue → null", frames: frames))
        let window = WindowConsumer(
            skip: frames / 10, count: frames - frames / 10, atBegin: { result.value.early = residentKiB() },
            atEnd: { result.value.late = residentKiB() })
        let publisher = VideoPublisher(NoiseCapturer(format: .nv12(width: 16, height: 16), frameRate: nil))
        try publisher.add(window, name: "null", queue: .init(capacity: 4, policy: .block))
        try publisher.start()
        _ = window.usagePerFrame()
        publisher.close()
        return result.value
    }

    private func noiseToVP8(frames: Int) throws -> Run {
        let result = Box(Run(name: "noise → queue → VP8 → null", frames: frames))
        let window = PacketWindow(
            skip: frames / 10, count: frames - frames / 10, atBegin: { result.value.early = residentKiB() },
            atEnd: { result.value.late = residentKiB() })
        let publisher = VideoPublisher(NoiseCapturer(format: .nv12(width: 16, height: 16), frameRate: nil))
        let encoding = try makeEncodingConsumer(bitrate: 200_000, to: window)
        try publisher.add(encoding, name: "vp8", queue: .init(capacity: 4, policy: .block))
        try publisher.start()
        window.awaitEnd()
        publisher.close()
        encoding.finish()
        return result.value
    }

    private final class Box {
        var value: Run
        init(_ value: Run) { self.value = value }
    }
}

/// The process's resident memory; 0 where the system does not tell.
func residentKiB() -> Int {
    let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return 0 }
    defer { close(file) }
    return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
        let count = read(file, buffer.baseAddress, buffer.count)
        guard count > 0 else { return 0 }
        var fields = [0, 0]
        var field = 0
        for byte in buffer[..<count] {
            if byte == UInt8(ascii: " ") {
                field += 1
                if field == 2 { break }
            } else if byte >= 48, byte < 58 {
                fields[field] = fields[field] * 10 + Int(byte - 48)
            }
        }
        return fields[1] * sysconf(Int32(_SC_PAGESIZE)) / 1024
    }
}
