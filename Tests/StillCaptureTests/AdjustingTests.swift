import CapturerTestKit
import MediaPublishing
import TestTools
import Testing
import VideoCapturing

@testable import StillCapture

/// Brackets and stills of another size, from a camera whose brightness can be set and shows two frames later.
@Suite struct AdjustingTests {
    private let camera = AdjustableCamera()
    private let stills = StillCapture()
    private let publisher: VideoPublisher

    init() throws {
        publisher = VideoPublisher(camera)
        try stills.attach(to: publisher)
        try publisher.start()
    }

    private func values(_ numbers: Int...) -> [CaptureAdjustment] {
        numbers.map { CaptureAdjustment([.control(name: "brightness", value: "\($0)")]) }
    }

    private let settings = Still.Settings(format: .nv12)

    @Test func eachStillShowsItsValue() async throws {
        var taken: [Still] = []
        for try await still in stills.bracket(values(40, 80, 120), settings: settings) { taken.append(still) }
        #expect(taken.map(\.number) == [1, 2, 3])
        #expect(taken.map { $0.bytes[0] } == [40, 80, 120])
        #expect(camera.brightness == AdjustableCamera.usual, "put back")
        // Another one can follow.
        for try await still in stills.bracket(values(50), settings: settings) { #expect(still.bytes[0] == 50) }
        publisher.close()
    }

    @Test func afterARefusalAllIsPutBack() async throws {
        var taken = 0
        await #expect {
            for try await _ in stills.bracket(values(40, 999), settings: settings) { taken += 1 }
        } throws: {
            isError(.control, $0)
        }
        #expect(taken == 1 && camera.brightness == AdjustableCamera.usual)
        publisher.close()
    }

    @Test func aCancelledBracketIsPutBack() async throws {
        let task = Task {
            for try await _ in stills.bracket(values(1, 2, 3, 4, 5, 6, 7, 8), settings: settings) { break }
        }
        try await task.value
        #expect(await eventually { camera.brightness == AdjustableCamera.usual })
        publisher.close()
    }

    @Test func whatIsNoBracket() async throws {
        func error(_ shots: [CaptureAdjustment], _ stills: StillCapture) async -> StillCaptureError.Code? {
            do {
                for try await _ in stills.bracket(shots, settings: settings) {}
                return nil
            } catch {
                return (error as? StillCaptureError)?.code
            }
        }
        #expect(await error([], stills) == .invalidConfiguration)
        #expect(await error(values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), stills) == .invalidConfiguration)
        // Frames that are handed in have no device.
        #expect(await error(values(1), StillCapture()) == .control)
        publisher.close()
    }

    @Test func anotherSize() async throws {
        let size = PixelSize(width: 64, height: 32)
        var settings = self.settings
        settings.size = size
        let still = try await stills.capture(settings)
        #expect(still.size == size && still.bytes.count == 64 * 32 * 3 / 2)
        #expect(camera.sizedFrames == 1)
        // That of the stream needs no other mode.
        settings.size = PixelSize(width: 16, height: 8)
        #expect(await eventually { stills.engine.state.withLock { $0.ring.newest != nil } })
        #expect(try await stills.capture(settings).size == settings.size)
        #expect(camera.sizedFrames == 1)
        settings.size = PixelSize(width: 65, height: 32)
        await #expect { try await stills.capture(settings) } throws: { isError(.control, $0) }
        #expect(stills.readiness == .ready)
        publisher.close()
    }

    @Test func aSourceWithoutOtherSizesSaysSo() async throws {
        let stills = StillCapture()
        let capture = PushCapturer(format: .nv12(width: 16, height: 8))
        let publisher = VideoPublisher(capture)
        try stills.attach(to: publisher)
        try publisher.start()
        let settings = Still.Settings(size: PixelSize(width: 32, height: 16))
        await #expect { try await stills.capture(settings) } throws: { isError(.control, $0) }
        publisher.close()
    }

    // MARK: As an output

    @Test func aBracketOfFiles() throws {
        let folder = TemporaryFolder()
        let publisher = MediaPublisher(video: AdjustableCamera())
        let log = EventLog(publisher)
        let output = try StillOutput(
            folder.file("shot-%d.nv12"),
            configuration: .init(settings: settings, bracket: values(40, 80, 120)))
        let id = try publisher.add(output)
        try publisher.start()
        try log.waitForCompletion(of: id)
        try publisher.stop()
        #expect(log.failures.isEmpty && output.outputStatistics.status == "3/3 stills")
        for (number, value) in [(1, 40), (2, 80), (3, 120)] as [(Int, UInt8)] {
            #expect(try folder.read("shot-\(number).nv12").first == value)
        }
    }

    @Test(arguments: [PixelSize(width: 64, height: 32), PixelSize(width: 16, height: 8)])
    func aFileOfASize(_ size: PixelSize) throws {
        let folder = TemporaryFolder()
        let camera = AdjustableCamera()
        let publisher = MediaPublisher(video: camera)
        let log = EventLog(publisher)
        var settings = settings
        settings.size = size
        let id = try publisher.add(StillOutput(folder.file("a.nv12"), configuration: .init(settings: settings)))
        try publisher.start()
        try log.waitForCompletion(of: id)
        try publisher.stop()
        #expect(try folder.read("a.nv12").count == size.width * size.height * 3 / 2)
        #expect(camera.sizedFrames == (size.width == 16 ? 0 : 1), "the stream's own size needs no other mode")
    }

    @Test func stillsOnRequest() throws {
        let folder = TemporaryFolder()
        let camera = AdjustableCamera()
        let publisher = MediaPublisher(video: camera)
        let log = EventLog(publisher)
        _ = try folder.write([1, 2, 3], to: "still-002.jpg")
        let output = try RequestedStillOutput(folder.file("still-%03d.jpg"))
        try publisher.add(output)
        let other = try publisher.add(try StillOutput(folder.file("other.jpg")))
        try publisher.start()
        publisher.takeStill()
        publisher.takeStill()
        try log.waitForCompletion(of: other)
        #expect(!publisher.isActive, "it keeps no run going")
        try publisher.stop()
        publisher.takeStill()
        #expect(log.failures.isEmpty)
        #expect(try folder.read("still-002.jpg") == [1, 2, 3], "no file is replaced")
        for name in ["still-001.jpg", "still-003.jpg"] {
            #expect(try folder.read(name).starts(with: [0xFF, 0xD8]), "\(name)")
        }
        #expect(output.outputStatistics.status?.contains("still-00") == true)
        #expect(output.outputStatistics.summary.contains("2 stills"))
        #expect(throws: StillCaptureError.self) { try RequestedStillOutput("still.jpg") }
    }
}

/// A camera of 16x8 at 100 frames per second, whose luma is its brightness of two frames before.
private final class AdjustableCamera: ForwardingVideoCapture, AdjustableCapture {
    static let usual: UInt8 = 200

    private final class Device: Sendable {
        let values = Locked((brightness: AdjustableCamera.usual, original: UInt8?.none, sized: 0))
    }

    private struct Source: FrameSource {
        let device: Device
        /// Of the frames that are exposed already.
        var exposed = [AdjustableCamera.usual, AdjustableCamera.usual]

        var settings: CaptureSettings { CaptureSettings(format: .nv12(width: 16, height: 8)) }
        var pacing: FramePacing { .rate(100) }

        mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
            exposed.append(device.values.withLock { $0.brightness })
            return SourceFrame(try flatPicture(exposed.removeFirst()))
        }
    }

    private let device = Device()
    let forwardedCapture: SourceCapturer

    init() { forwardedCapture = SourceCapturer(Source(device: device), name: "adjustable") }

    var brightness: UInt8 { device.values.withLock { $0.brightness } }
    var sizedFrames: Int { device.values.withLock { $0.sized } }
    var adjustable: (any AdjustableCapture)? { self }

    func adjust(_ adjustment: CaptureAdjustment) throws(CaptureError) {
        for case .control(_, let text) in adjustment.settings {
            guard let value = UInt8(text) else {
                throw CaptureError(.invalidConfiguration, operation: "adjust", message: "\(text) is too much.")
            }
            device.values.withLock { values in
                values.original = values.original ?? values.brightness
                values.brightness = value
            }
        }
    }

    func endAdjustment() throws(CaptureError) {
        device.values.withLock { values in
            values.brightness = values.original ?? values.brightness
            values.original = nil
        }
    }

    func captureFrame(
        of size: PixelSize, skippedFrames: Int, timeout: Duration
    ) throws(CaptureError) -> VideoFrame {
        guard size.width % 2 == 0 else {
            throw CaptureError(.formatUnsupported, operation: "take a frame", message: "There is no \(size).")
        }
        device.values.withLock { $0.sized += 1 }
        let picture: PixelBuffer
        do {
            picture = try flatPicture(brightness, width: size.width, height: size.height)
        } catch {
            throw CaptureError(.system, operation: "take a frame", message: "\(error)")
        }
        return VideoFrame(buffer: picture, timestamp: MonotonicClock().now)
    }
}
