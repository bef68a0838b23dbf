import Foundation
import TestTools
import Testing
import VP8Codec
import VideoCapturing

/// Our packets are those of libvpx's own tool at equal settings, byte for byte: nothing between the frame
/// and the library costs quality. Needs `vpxenc` (Debian: `vpx-tools`).
@Suite struct VPXEncComparisonTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var arguments: [String]
        var change: @Sendable (inout VP8Encoder.Configuration) -> Void = { _ in }
        var isScreen = false
        var rate: FrameRate = 30
        var size = (width: 176, height: 144)
        var testDescription: String { name }
    }

    static let cases = [
        Case(name: "camera", arguments: []),
        Case(name: "large, odd", arguments: [], size: (353, 287)),
        Case(
            name: "key frames", arguments: ["--kf-min-dist=8", "--kf-max-dist=8"],
            change: { $0.keyFrameInterval = FrameRate(30, per: 1)!.time(ofFrame: 8) }),
        Case(
            name: "low rate, drops", arguments: ["--target-bitrate=40", "--drop-frame=60"],
            change: {
                $0.bitrate = 40_000
                $0.dropFrameThreshold = 60
            }),
        Case(
            name: "film rate", arguments: ["--timebase=1/24", "--fps=24/1", "--max-intra-rate=720"], rate: 24),
        Case(
            name: "NTSC", arguments: ["--timebase=1001/30000", "--fps=30000/1001", "--max-intra-rate=899"],
            rate: FrameRate(30000, per: 1001)!),
        Case(name: "resilient", arguments: ["--error-resilient=1"], change: { $0.isErrorResilient = true }),
        Case(
            name: "screen",
            arguments: ["--cpu-used=-8", "--static-thresh=100", "--screen-content-mode=1"],
            isScreen: true),
        Case(
            name: "screen, live",
            arguments: [
                "--cpu-used=-8", "--min-q=10", "--static-thresh=100", "--screen-content-mode=2", "--drop-frame=30",
                "--target-bitrate=60",
            ],
            change: {
                $0.bitrate = 60_000
                $0.minimumQuantizer = 10
                $0.screenContentMode = 2
                $0.dropFrameThreshold = 30
            }, isScreen: true),
    ]

    @Test(arguments: cases)
    func packetsAreEqual(given: Case) throws {
        let frames = 24
        let folder = FileManager.default.temporaryDirectory.appending(path: "vp8-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let clip = folder.appending(path: "clip.yuv")
        let output = folder.appending(path: "clip.ivf")

        var configuration = VP8Encoder.Configuration(bitrate: 250_000, contentHint: given.isScreen ? .text : .motion)
        configuration.frameRate = given.rate
        configuration.threads = 1
        configuration.keyFrameInterval = nil
        given.change(&configuration)
        let encoder = try VP8Encoder(configuration)

        var raw = Data()
        var ours: [[UInt8]] = []
        for index in 0..<frames {
            let frame = try movingFrame(
                width: given.size.width, height: given.size.height, step: index, rate: given.rate)
            for plane in frame.buffer.planes.indices {
                for row in 0..<frame.buffer.planes[plane].rows {
                    frame.buffer.withRow(row, ofPlane: plane) { raw.append(contentsOf: $0) }
                }
            }
            try encoder.encode(frame) { ours.append(bytes($0)) }
        }
        try raw.write(to: clip)
        try runVPXEnc(given, from: clip, to: output)
        let theirs = readIVF(try Data(contentsOf: output))
        #expect(ours.count == theirs.count)
        #expect(ours.count > 5)
        for (index, (our, their)) in zip(ours, theirs).enumerated() { #expect(our == their, "packet \(index)") }
    }

    private func runVPXEnc(_ given: Case, from clip: URL, to output: URL) throws {
        var arguments = [
            "--codec=vp8", "--ivf", "--i420", "--width=\(given.size.width)", "--height=\(given.size.height)",
            "--rt", "--passes=1", "--threads=1", "--lag-in-frames=0", "--end-usage=cbr", "--target-bitrate=250",
            "--undershoot-pct=100", "--overshoot-pct=15", "--buf-initial-sz=500", "--buf-optimal-sz=600",
            "--buf-sz=1000", "--min-q=2", "--max-q=56", "--drop-frame=0", "--resize-allowed=0",
            "--cpu-used=-6", "--static-thresh=1", "--noise-sensitivity=0", "--token-parts=0",
            "--screen-content-mode=0", "--max-intra-rate=900", "--auto-alt-ref=0", "--error-resilient=0",
            "--timebase=1/30", "--fps=30/1",
        ]
        // vpxenc takes the last of an argument given twice, except for this one.
        if !given.arguments.contains(where: { $0.hasPrefix("--kf-") }) { arguments.append("--disable-kf") }
        arguments += given.arguments + ["-o", output.path(), clip.path()]
        try run("vpxenc", ["--quiet"] + arguments)
    }

    private func readIVF(_ data: Data) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var position = 32
        while position + 12 <= data.count {
            let size = (0..<4).reduce(0) { $0 | Int(data[position + $1]) << (8 * $1) }
            packets.append(Array(data[(position + 12)..<min(position + 12 + size, data.count)]))
            position += 12 + size
        }
        return packets
    }
}
