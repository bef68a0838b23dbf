import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

/// Grabbers: a part of the picture, pixels that are not square, two fields.
@Suite struct GrabberTests {
    private func rectangle(_ x: Int32, _ y: Int32, _ width: UInt32, _ height: UInt32) -> v4l2_rect {
        v4l2_rect(left: x, top: y, width: width, height: height)
    }

    private func isEqual(_ rect: v4l2_rect?, _ x: Int32, _ y: Int32, _ width: UInt32, _ height: UInt32) -> Bool {
        guard let rect else { return false }
        return (rect.left, rect.top, rect.width, rect.height) == (x, y, width, height)
    }

    /// The shape of the pixels of the first frame of 64x48.
    private func pixelAspect(
        signal: v4l2_fract?, crop: v4l2_rect?, field: UInt32 = V4L2_FIELD_NONE.rawValue
    ) throws -> PixelAspect? {
        let machine = StreamingMachine()
        machine.camera.set { state in
            state.signalAspect = signal
            state.field = field
            if let crop { state.selections[UInt32(V4L2_SEL_TGT_CROP)] = crop }
        }
        let run = CaptureRun(machine)
        run.probe.set { $0.keeps = 1 }
        try run.start()
        #expect(run.probe.waitForMore(1))
        #expect(run.capture.captureSettings().format.pixelAspect == run.probe.kept.first?.pixelAspect)
        return run.probe.kept.first?.pixelAspect
    }

    /// An earlier format leaves its composition, and so a border; another program may leave a crop.
    @Test func theWholePictureFillsTheFrame() throws {
        let machine = StreamingMachine()
        machine.camera.set { state in
            state.selections = [
                UInt32(V4L2_SEL_TGT_CROP): rectangle(10, 20, 30, 40),
                UInt32(V4L2_SEL_TGT_CROP_DEFAULT): rectangle(0, 0, 720, 576),
                UInt32(V4L2_SEL_TGT_COMPOSE): rectangle(0, 0, 32, 24),
            ]
        }
        let run = try CaptureRun.running(machine)
        let selections = run.camera.get { $0.selections }
        #expect(isEqual(selections[UInt32(V4L2_SEL_TGT_CROP)], 0, 0, 720, 576))
        #expect(isEqual(selections[UInt32(V4L2_SEL_TGT_COMPOSE)], 0, 0, 64, 48))
        // A second start has nothing to set.
        let calls = run.camera.calls(of: clibv4l2_S_SELECTION)
        #expect(calls == 2)
        run.capture.releaseCapture()
        _ = try CaptureRun.running(machine)
        #expect(run.camera.calls(of: clibv4l2_S_SELECTION) == calls)
    }

    /// 54:59 is the height by the width of PAL's samples, of 720 in a line.
    @Test func pixelsHaveTheShapeOfTheSignal() throws {
        let pal = v4l2_fract(numerator: 54, denominator: 59)
        #expect(try pixelAspect(signal: pal, crop: nil) == PixelAspect(width: 59, height: 54))
        // 720x576 scaled to 64x48, which is nearly of its aspect.
        #expect(try pixelAspect(signal: pal, crop: rectangle(0, 0, 720, 576)) == .square)
        // A signal of 16:9, squeezed.
        let square = v4l2_fract(numerator: 1, denominator: 1)
        #expect(
            try pixelAspect(signal: square, crop: rectangle(0, 0, 1280, 720)) == PixelAspect(width: 4, height: 3))
        #expect(try pixelAspect(signal: v4l2_fract(numerator: 0, denominator: 0), crop: nil) == .square)
    }

    /// The top field is dark and the bottom field bright: their lines alternate, or one field follows the other.
    @Test(
        arguments: [V4L2_FIELD_INTERLACED, V4L2_FIELD_SEQ_TB, V4L2_FIELD_SEQ_BT].map(\.rawValue), [true, false])
    func fieldsAreDeinterlacedUnlessTheyAreWanted(_ field: UInt32, _ deinterlaces: Bool) throws {
        let machine = StreamingMachine()
        machine.camera.set { state in
            state.field = field
            // NV12 of 64x48: in the chroma 12 lines of each field.
            state.content = [48, 24].flatMap { rows in
                (0..<rows).flatMap { row in
                    let isTop =
                        switch v4l2_field(field) {
                        case V4L2_FIELD_SEQ_TB: row < rows / 2
                        case V4L2_FIELD_SEQ_BT: row >= rows / 2
                        default: row % 2 == 0
                        }
                    return [UInt8](repeating: isTop ? 60 : 180, count: 64)
                }
            }
        }
        let run = CaptureRun(machine, CameraCapturer.Configuration(desiredFrameRate: 200, deinterlaces: deinterlaces))
        run.probe.set { $0.keeps = 1 }
        try run.start()
        #expect(run.probe.waitForMore(3))
        let frame = try #require(run.probe.kept.first)
        for plane in 0..<2 {
            let lines = (0..<frame.buffer.planes[plane].rows).map { row in
                frame.buffer.withRow(row, ofPlane: plane) { $0[5] }
            }
            #expect(lines == lines.indices.map { deinterlaces || $0 % 2 == 0 ? 60 : 180 })
        }
        _ = try run.stop()
        #expect(run.events.count { $0 == .interlaced } == (deinterlaces ? 1 : 0))
    }

    /// One field in each buffer: half of the lines, which are twice as high.
    @Test(arguments: [V4L2_FIELD_ALTERNATE, V4L2_FIELD_TOP].map(\.rawValue))
    func aSingleFieldHasTheShapeOfItsFrame(_ field: UInt32) throws {
        let half = PixelAspect(width: 1, height: 2)
        let square = v4l2_fract(numerator: 1, denominator: 1)
        #expect(try pixelAspect(signal: nil, crop: nil, field: field) == half)
        #expect(try pixelAspect(signal: square, crop: nil, field: field) == half)
        #expect(try pixelAspect(signal: square, crop: rectangle(0, 0, 64, 96), field: field) == half)
    }
}
