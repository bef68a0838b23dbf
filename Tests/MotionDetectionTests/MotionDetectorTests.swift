import FrameProcessing
import JPEGCodec
import TestTools
import Testing
import VideoCapturing

@testable import MotionDetection

@Suite struct MotionDetectorTests {
    /// A gray picture with a white square; the square is `nil` for none.
    private func frame(
        _ format: PixelFormat, square x: Int?, at milliseconds: Int, orientation: VideoOrientation = .up
    ) throws -> VideoFrame {
        let made = try PixelBuffer.make(.nv12, width: 320, height: 240) { pixels in
            pixels.fill(plane: 0) { column, row in
                if let x, (x..<x + 60).contains(column), (80..<140).contains(row) { return 200 }
                return UInt8(60 + (column / 20 + row / 20) % 5 * 10)
            }
            pixels.fill(plane: 1, with: 128)
        }
        var buffer = made
        switch format {
        case .nv12: break
        case .mjpeg: buffer = try compress(made)
        case .yuy2, .uyvy, .nv16: buffer = try spread(made, format)
        default: buffer = try FrameProcessor().convert(made, to: format)
        }
        return VideoFrame(
            buffer: buffer, timestamp: MediaTime(nanoseconds: Int64(milliseconds) * 1_000_000),
            sequenceNumber: UInt64(milliseconds), orientation: orientation)
    }

    private func compress(_ buffer: PixelBuffer) throws -> PixelBuffer {
        var result: PixelBuffer?
        try JPEGEncoder(quality: 90).encode(VideoFrame(buffer: buffer, timestamp: .zero)) { packet in
            result = try packet.data.withUnsafeBytes {
                try PixelBuffer.compressed($0, as: .mjpeg, width: buffer.width, height: buffer.height)
            }
        }
        return try #require(result)
    }

    /// 4:2:2, which can be read but not made.
    private func spread(_ buffer: PixelBuffer, _ format: PixelFormat) throws -> PixelBuffer {
        let luma = (0..<buffer.height).map { row in buffer.withRow(row, ofPlane: 0) { Array($0) } }
        return try PixelBuffer.make(format, width: buffer.width, height: buffer.height) { pixels in
            pixels.fill(plane: 0) { column, row in
                switch format {
                case .yuy2: column % 2 == 0 ? luma[row][column / 2] : 128
                case .uyvy: column % 2 == 1 ? luma[row][column / 2] : 128
                default: luma[row][column]
                }
            }
            if format == .nv16 { pixels.fill(plane: 1, with: 128) }
        }
    }

    @Test(arguments: PixelFormat.allCases)
    func seesTheSameInEveryFormat(format: PixelFormat) throws {
        let events = Locked<[MotionEvent]>([])
        let detector = MotionDetector { event in events.withLock { $0.append(event) } }
        var time = 0
        var still = try frame(format, square: nil, at: 0)
        for _ in 0..<20 {
            still.timestamp = MediaTime(nanoseconds: Int64(time) * 1_000_000)
            detector.consumeFrame(still)
            time += 100
        }
        for step in 0..<10 {
            detector.consumeFrame(try frame(format, square: 40 + 10 * step, at: time))
            time += 100
        }
        let found = events.withLock { $0 }
        #expect(found.map(\.kind) == [.began])
        let event = try #require(found.first)
        #expect(event.start == MediaTime(nanoseconds: 2_000_000_000))
        #expect(abs(event.area - 60 * 60 / (320.0 * 240)) < 0.012)
        #expect(abs(event.region.y - 80 / 240.0) < 0.03)
        detector.connectFeedback(nil)
        #expect(events.withLock { $0.map(\.kind) } == [.began, .ended])
        #expect(detector.statistics.events == 1 && detector.statistics.framesFailed == 0)
    }

    /// The square is at the upper left of the buffer.
    @Test(arguments: zip(VideoOrientation.allCases, [(false, false), (true, true), (true, false), (false, true)]))
    func saysWhereInTheUprightPicture(orientation: VideoOrientation, place: (right: Bool, bottom: Bool)) throws {
        let detector = MotionDetector()
        var still = try frame(.i420, square: nil, at: 0, orientation: orientation)
        for number in 0..<20 {
            still.timestamp = MediaTime(nanoseconds: Int64(number) * 100_000_000)
            detector.consumeFrame(still)
        }
        for number in 20..<24 {
            detector.consumeFrame(
                try frame(.i420, square: 4 * (number - 20), at: number * 100, orientation: orientation))
        }
        let region = try #require(detector.lastObservation?.region)
        let (x, y) = (region.x + region.width / 2, region.y + region.height / 2)
        let (isAcross, isDown) = orientation.swapsDimensions ? (y, x) : (x, y)
        // Its columns are near an edge, its rows a little above the middle.
        #expect(orientation.swapsDimensions ? (isAcross > 0.5) == place.bottom : (isAcross > 0.5) == place.right)
        #expect(orientation.swapsDimensions ? (isDown > 0.5) == place.right : (isDown > 0.5) == place.bottom)
    }

    @Test func looksAtTenFramesPerSecondOnly() throws {
        let detector = MotionDetector()
        let frame = try frame(.nv12, square: nil, at: 0)
        for number in 0..<60 {
            var frame = frame
            frame.timestamp = MediaTime(nanoseconds: Int64(number) * 16_666_667)
            frame.sequenceNumber = UInt64(number)
            detector.consumeFrame(frame)
        }
        #expect(detector.statistics.framesReceived == 60)
        #expect((9...11).contains(detector.statistics.framesAnalyzed))
    }

    @Test func takesWhatTheOthersWant() throws {
        let reported = Locked(CaptureWants())
        let detector = MotionDetector()
        detector.connectFeedback(CaptureFeedback(onWants: { wants in reported.withLock { $0 = wants } }, onRefresh: {}))
        let wants = reported.withLock { $0 }
        #expect(wants == detector.wants && wants.maximumFrameRate == 10)
        let recorder = CaptureWants(maximumFrameRate: 30)
        #expect(wants.merged(with: recorder) == recorder)
    }

    @Test func readsNoPixelsWhereTheDamageIsKnown() async throws {
        let detector = MotionDetector(MotionSettings(quietTime: .milliseconds(500)))
        let events = detector.events()
        var shown = try frame(.nv12, square: nil, at: 0)
        detector.consumeFrame(shown)
        for number in 1...20 {
            shown.timestamp = MediaTime(nanoseconds: Int64(number) * 100_000_000)
            shown.damage = number < 10 ? [PixelRect(x: number * 10, y: 10, width: 60, height: 60)] : []
            detector.consumeFrame(shown)
        }
        #expect(detector.statistics.framesAnalyzed == 1)
        var kinds: [MotionEvent.Kind] = []
        for await event in events {
            kinds.append(event.kind)
            if event.kind == .ended { break }
        }
        #expect(kinds == [.began, .ended])
    }

    @Test func damagedPicturesAreCountedAndSkipped() throws {
        let detector = MotionDetector()
        let bytes: [UInt8] = [0xFF, 0xD8, 1, 2, 3]
        let buffer = try bytes.withUnsafeBytes {
            try PixelBuffer.compressed($0, as: .mjpeg, width: 64, height: 48)
        }
        detector.consumeFrame(VideoFrame(buffer: buffer, timestamp: .zero))
        #expect(detector.statistics.framesFailed == 1)
        #expect(detector.lastError?.code == .corruptData)
    }
}
