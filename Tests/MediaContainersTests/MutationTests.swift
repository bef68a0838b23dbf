import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// Thousands of damaged files: each must end in frames or in a typed error, and none may take memory for
/// what is not there.
@Suite struct MutationTests {
    private static let y4m = Array("YUV4MPEG2 W6 H4 F30000:1001 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n".utf8)
    private static let y4mFrame = Array("FRAME Xa\n".utf8) + packedSamples(.i420, 6, 4)

    @Test func damagedY4MNeitherCrashesNorGrows() throws {
        let sound = MutationTests.y4m + MutationTests.y4mFrame + MutationTests.y4mFrame
        try survive(sound, rounds: 3000) { file in
            let reader = try Y4MReader(file)
            var frames = 0
            while frames < 1000, try reader.nextFrame() != nil { frames += 1 }
            #expect(frames < 1000)
        }
    }

    @Test func damagedIVFNeitherCrashesNorGrows() throws {
        let sound = ivf(packets: (0..<5).map { ($0, [UInt8](repeating: UInt8($0), count: 30)) })
        try survive(sound, rounds: 3000) { file in
            let reader = try IVFReader(file)
            var packets = 0
            // The least packet has 12 bytes.
            while packets < 1000, let packet = try reader.nextPacket() {
                #expect(packet.data.count <= 4096)
                packets += 1
            }
            #expect(packets < 1000)
        }
    }

    private func survive(_ sound: [UInt8], rounds: UInt64, _ read: (InputFile) throws -> Void) throws {
        let folder = TemporaryFolder()
        let path = folder.file("a")
        var errors = 0
        for seed in 0..<rounds {
            var random = SeededRandom(state: seed)
            let bytes = mutate(sound, &random)
            let file: InputFile
            if seed % 2 == 0 {
                try writeBytes(bytes, to: path)
                file = try InputFile(path: path)
            } else {
                file = InputFile(descriptor: try pipeHolding(bytes), name: "pipe", closing: true)
            }
            do {
                try read(file)
            } catch {
                // Of a pipe the length is not known, so that a large picture that is only claimed is
                // asked of the system, which may refuse it.
                #expect(error is MediaFileError || (error as? CaptureError)?.code == .outOfMemory)
                errors += 1
            }
        }
        #expect(errors > Int(rounds) / 4)
        #expect(peakMemory() < 3 << 29)
    }

    private func mutate(_ sound: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = sound
        for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[place] = [0, 0x7F, 0x80, 0xFF, 0x0A, 0x20, 0x39].randomElement(using: &random)!
            case 2: bytes.removeSubrange(place...)
            case 3: bytes.insert(UInt8(ascii: "9"), at: place)
            case 4: bytes.remove(at: place)
            default: bytes += bytes[place...].prefix(600)
            }
        }
        return bytes
    }

    /// The most that this process has ever had in memory, in bytes.
    private func peakMemory() -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss * 1024
    }
}
