import Testing
import VideoCapturing

@testable import CameraCapturer

/// The best mode for packets: frames are left out, and nothing is scaled.
@Suite struct PacketModeTests {
    private func ranking(
        _ size: String, _ codec: Codec? = nil, of camera: RecordedCamera, at rate: FrameRate = 30
    ) throws(CaptureError) -> ModeRanking {
        var source = camera
        let request = CameraMode.Request(size: PixelSize(size), rate: rate, media: .packets(codec))
        return try ModeSearch.candidates(
            from: &source, request: request, isConvertible: { camera.convertible.contains($0) }, subject: "Test camera")
    }

    private func camera(_ modes: [(FourCC, String, FrameRate)]) -> RecordedCamera {
        var camera = RecordedCamera()
        for fourCC in modes.map(\.0) where camera.sizes[fourCC] == nil {
            let sizes = modes.filter { $0.0 == fourCC }.map {
                RecordedCamera.Size(
                    size: PixelSize($0.1),
                    intervals: .discrete([FrameInterval(numerator: 1, denominator: UInt32($0.2.frames))]))
            }
            camera.add(fourCC, .discrete(sizes))
        }
        return camera
    }

    @Test func takesPacketsOnly() throws {
        let camera = camera([
            (.yuyv, "640x480", 30), (.mjpeg, "640x480", 30), (.mjpeg, "1920x1080", 30), (.h264, "640x480", 30),
            (.h264, "1280x720", 15),
        ])
        #expect(try ranking("640x480", of: camera).modes[0].short == "H264 640x480 30")
        #expect(try ranking("1920x1080", of: camera).modes[0].short == "MJPG 1920x1080 30")
        // Half of the rate is worse than more pixels, but not worse than fewer.
        #expect(try ranking("1280x720", of: camera).modes[0].short == "MJPG 1920x1080 30")
        #expect(try ranking("1280x720", .h264, of: camera).modes[0].short == "H264 1280x720 15")
        #expect(try ranking("640x480", .jpeg, of: camera).modes[0].short == "MJPG 640x480 30")
        let ranking = try ranking("640x480", of: camera)
        let decision = ModeNegotiation(ranking).decision
        #expect(
            decision.summary == "H264 640x480 at 30 fps, delivered as packets of H264 640x480 at 30 fps: as it comes")
        #expect(decision.lines(rejectedLimit: 10).contains("rejected    YUYV: frames, not packets"))
        #expect(decision.lines(rejectedLimit: 10).contains("rejected    MJPG 640x480 at 30 fps: takes more of the bus"))
        #expect(decision.lines(rejectedLimit: 10)[0] == "requested   640x480 at 30 fps, as packets")
        #expect(decision.delivered.isAsIs && decision.plan.isWhole)
    }

    @Test func neverScales() throws {
        let decision = ModeNegotiation(try ranking("352x288", of: camera([(.h264, "640x480", 60)]))).decision
        #expect(
            "\(decision.delivered)"
                == "packets of H264 640x480 at 60 fps: of the camera's size, since packets are not scaled")
        #expect(decision.plan.size == PixelSize("640x480") && decision.plan.decimatedRate == nil)
        #expect(!decision.delivered.isSmallerThanRequested)
        // JPEG images do not need each other.
        let images = ModeNegotiation(try ranking("640x480", of: camera([(.mjpeg, "640x480", 60)]))).decision
        #expect(images.plan.decimatedRate == 30 && images.delivered.rate == 30)
    }

    @Test func saysThatThereAreNone() throws {
        let yuyv = camera([(.yuyv, "640x480", 30)])
        let error = #expect(throws: CaptureError.self) { try ranking("640x480", of: yuyv) }
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message.contains("only YUYV, and no packets") == true, "\(error as Any)")
        let mjpeg = camera([(.yuyv, "640x480", 30), (.mjpeg, "640x480", 30)])
        let other = #expect(throws: CaptureError.self) { try ranking("640x480", .h264, of: mjpeg) }
        #expect(
            other?.message == "The camera has no packets of h264; choose one of MJPG.", "\(other as Any)")
    }
}
