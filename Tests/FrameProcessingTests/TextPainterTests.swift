import Testing
import VideoCapturing

@testable import FrameProcessing

@Suite struct TextPainterTests {
    private func gray(_ format: PixelFormat, _ width: Int, _ height: Int, at time: MediaTime = .zero) throws
        -> VideoFrame
    {
        let buffer = try PixelBuffer.make(format, width: width, height: height) { pixels in
            for plane in 0..<pixels.planes.count { pixels.fill(plane: plane, with: 100) }
        }
        return VideoFrame(buffer: buffer, timestamp: time, damage: [])
    }

    /// The text that the letters of the picture's luma are, from the left of the box.
    private func text(in frame: VideoFrame, count: Int) -> String {
        let top = (frame.height - (BitmapFont.height + 4)) / 2 * 2 + 2
        return String(
            decoding: (0..<count).map { index -> UInt8 in
                let rows = (0..<BitmapFont.height).map { row in
                    frame.buffer.withRow(top + row, ofPlane: 0) { bytes in
                        (0..<BitmapFont.width).reduce(UInt8(0)) {
                            $0 << 1 | (bytes[index * 6 + 2 + $1] == 235 ? 1 : 0)
                        }
                    }
                }
                let letter = (UInt8(0x20)..<0x7F).first { letter in
                    rows.enumerated().allSatisfy { BitmapFont.row($0.offset, of: letter) == $0.element }
                }
                return letter ?? 0x3F
            }, as: UTF8.self)
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .nv16, .yv12])
    func theTextCanBeRead(format: PixelFormat) throws {
        let painter = TextPainter("Door 7: 100%%")
        let frame = try gray(format, 200, 100)
        let painted = try painter.paint(frame)
        #expect(text(in: painted, count: 12) == "Door 7: 100%")
        #expect(frame.buffer.withRow(99, ofPlane: 0) { $0[0] } == 100, "the frame itself is as it was")
        // Outside of the box nothing changes, neither light nor color.
        for (index, plane) in painted.buffer.planes.enumerated() {
            for row in 0..<plane.rows / 2 {
                painted.buffer.withRow(row, ofPlane: index) { #expect($0.allSatisfy { $0 == 100 }) }
            }
        }
    }

    @Test func millisecondsAndElapsedTime() throws {
        let now = MediaTime(nanoseconds: 50_000_000_000)
        let painter = TextPainter("%s.%f %{elapsed} 5%%", clock: { (now, 1_700_000_000_900_000_000) })
        for (delay, expected) in [(0, "1700000000.900 0:00:00.000 5%"), (-1, "1700000000.899 0:00:00.000 5%")] {
            let frame = try gray(.i420, 300, 50, at: now.advanced(by: .milliseconds(delay)))
            #expect(text(in: try painter.paint(frame), count: expected.count) == expected)
        }
        // The times of a film.
        let film = TextPainter("%{elapsed}", clock: { (now, 1_700_000_000_900_000_000) })
        for (milliseconds, expected) in [(0, "0:00:00.000"), (83_456, "0:01:23.456"), (3_600_001, "1:00:00.001")] {
            let frame = try gray(.i420, 300, 50, at: MediaTime(nanoseconds: Int64(milliseconds) * 1_000_000))
            #expect(text(in: try film.paint(frame), count: expected.count) == expected)
        }
        // What repeats a frame keeps its text, so that a screen at rest stays so.
        var repeated = try gray(.i420, 300, 50, at: now.advanced(by: .milliseconds(1)))
        repeated.isRepeat = true
        #expect(try painter.paint(repeated).isRepeat)
    }

    /// The height of the dark box is that of the letters and their margin.
    @Test(
        arguments: [(nil, 360, 2), (nil, 1080, 5), (3, 1080, 4), (10, 480, 5), (50, 96, 5), (1, 48, 1)]
            as [(Int?, Int, Int)])
    func theSizeOfTheLetters(percent: Int?, height: Int, scale: Int) throws {
        let painted = try TextPainter("x", sizePercent: percent).paint(gray(.i420, 1920, height))
        let dark = (0..<height).count { row in painted.buffer.withRow(row, ofPlane: 0) { $0[0] != 100 } }
        #expect(((BitmapFont.height + 4) * scale...(BitmapFont.height + 4) * scale + 1).contains(dark))
    }

    @Test func theTimeIsThatOfTheCapture() throws {
        let now = MediaTime(nanoseconds: 50_000_000_000)
        let painter = TextPainter("%s", clock: { (now, 1_700_000_000_900_000_000) })
        // Captured a second and a half before now.
        let late = try painter.paint(gray(.i420, 200, 50, at: now.advanced(by: .milliseconds(-1500))))
        #expect(text(in: late, count: 10) == "1699999999")
        #expect(late.damage == nil, "the text is new")
        let same = try painter.paint(gray(.i420, 200, 50, at: now.advanced(by: .milliseconds(-1400))))
        #expect(same.damage == [], "the second is the same")
        // The times of a recording mean nothing here.
        #expect(text(in: try painter.paint(gray(.i420, 200, 50)), count: 10) == "1700000000")
    }

    @Test(arguments: TextPainter.Corner.allCases, [PixelFormat.i420, .nv12, .argb, .rgb24, .nv16])
    func anySizeAndFormat(corner: TextPainter.Corner, format: PixelFormat) throws {
        let painter = TextPainter("A long text that fits into few pictures", corner: corner)
        for (width, height) in [(1, 1), (2, 2), (7, 5), (33, 17), (320, 240), (641, 481)] {
            let painted = try painter.paint(gray(format, width, height))
            #expect(painted.width == width && painted.height == height && painted.pixelFormat == format)
        }
    }

    @Test func refusesWhatItCannotPaintOn() throws {
        let error = #expect(throws: CaptureError.self) { try TextPainter("x").paint(gray(.yuy2, 16, 16)) }
        #expect(error?.code == .formatUnsupported)
    }
}
