import Testing
import VideoCapturing

@testable import CameraCapturer

/// The best mode for a request, worked out by hand from the recorded lists.
@Suite struct ModeChoiceTests {
    typealias Row = (size: String, rate: FrameRate, best: String)

    @Test(
        arguments: [
            ("352x288", 30, "NV12 640x360 30"),
            ("640x480", 30, "NV12 640x480 25"),  // 83 %, but the exact size has more than 15.
            ("1280x720", 30, "NV12 640x360 30"),  // The exact size has 12.5.
            ("1280x720", 60, "NV12 320x180 60"),
            ("1920x1080", 30, "NV12 640x360 30"),
            ("2x2", 30, "NV12 320x180 30"),
            ("353x287", 30, "NV12 640x360 30"),
            ("8000x6000", 30, "NV12 640x360 30"),
            ("352x288", 1, "NV12 640x360 1"),
            ("1920x1080", 1, "NV12 1920x1080 1"),
            ("352x288", 1000, "NV12 640x360 40"),
            ("320x180", 1000, "NV12 320x180 60"),
            // Thinned out, since 5 is less than 80 %.
            ("640x480", FrameRate(15, per: 2)!, "NV12 640x480 10"), ("640x480", 7, "NV12 640x480 10"),
            ("640x480", 6, "NV12 640x480 5"),
            ("352x288", FrameRate(30000, per: 1001)!, "NV12 640x360 30"),
            ("640x360", FrameRate(25, per: 2)!, "NV12 640x360 25/2"),
            ("640x360", FrameRate(1, per: 2)!, "NV12 640x360 1"),
        ] as [Row])
    func vivid(row: Row) throws {
        #expect(try RecordedCamera.vividWebcam.best(row.size, at: row.rate) == row.best)
    }

    @Test(
        arguments: [
            ("352x288", 30, "YUYV 352x288 30"), ("640x480", 30, "YUYV 640x480 30"),
            ("1280x720", 30, "MJPG 1280x720 30"), ("1280x720", 60, "MJPG 1280x720 30"),
            ("1920x1080", 30, "MJPG 1920x1080 30"), ("1280x720", 10, "YUYV 1280x720 10"),
            ("2x2", 30, "YUYV 160x90 30"), ("353x287", 30, "YUYV 640x360 30"),
            ("8000x6000", 30, "MJPG 1920x1080 30"), ("352x288", 1, "YUYV 352x288 5"),
            ("640x480", 1000, "YUYV 640x480 30"), ("640x480", FrameRate(15, per: 2)!, "YUYV 640x480 15/2"),
            ("640x480", FrameRate(30000, per: 1001)!, "YUYV 640x480 30"), ("800x600", 25, "YUYV 800x600 24"),
            ("800x600", 30, "MJPG 800x600 30"),
        ] as [Row])
    func uvc(row: Row) throws {
        #expect(try RecordedCamera.uvcWebcam.best(row.size, at: row.rate) == row.best)
    }

    @Test(
        arguments: [
            ("352x288", 30, "NV12 352x288 30"), ("1280x720", 60, "NV12 1280x720 60"), ("2x2", 30, "NV12 32x32 30"),
            ("353x287", 30, "NV12 354x288 30"), ("8000x6000", 30, "NV12 2592x1944 30"),
            ("352x288", 1, "NV12 352x288 1"),
            ("352x288", 1000, "NV12 352x288 90"), ("640x480", FrameRate(15, per: 2)!, "NV12 640x480 15/2"),
            ("640x480", FrameRate(30000, per: 1001)!, "NV12 640x480 30000/1001"),
        ] as [Row])
    func raspberryPi(row: Row) throws {
        #expect(try RecordedCamera.raspberryPi.best(row.size, at: row.rate) == row.best)
    }

    @Test(
        arguments: [
            ("352x288", 30, "NV12 1920x1080 60000/1001"), ("1920x1080", 60, "NV12 1920x1080 60000/1001"),
            ("8000x6000", 1, "NV12 1920x1080 60000/1001"),
        ] as [Row])
    func grabber(row: Row) throws {
        #expect(try RecordedCamera.hdmiGrabber.best(row.size, at: row.rate) == row.best)
        #expect(try RecordedCamera.hdmiGrabber.ranking(row.size, at: row.rate).modes.allSatisfy { !$0.isRateVerified })
    }

    @Test func takesTheNearestOfTwoRates() throws {
        let camera = RecordedCamera.usbGrabber
        #expect(try camera.best("1920x1080", at: 60) == "YUYV 1920x1080 60")
        // 60 is within half a percent of 59.94, and the highest such rate.
        #expect(try camera.best("1920x1080", at: FrameRate(60000, per: 1001)!) == "YUYV 1920x1080 60")
        #expect(try camera.best("1920x1080", at: 50) == "YUYV 1920x1080 60000/1001")
    }

    @Test(arguments: ["640x480", "720x480"])
    func countsTelevisionsRateAsThirty(size: String) throws {
        let ranking = try RecordedCamera.television.ranking(size, at: 30)
        #expect(ranking.modes[0].short == "UYVY \(size) 30000/1001")
        #expect(ModeKey.bucket(of: ranking.modes[0].rate, for: 30) == 0)
    }

    @Test func forcesTheSize() throws {
        #expect(try RecordedCamera.vividWebcam.best("1280x720", at: 30, .sizeFirst) == "NV12 1280x720 25/2")
        #expect(try RecordedCamera.vividWebcam.best("1920x1080", at: 30, .sizeFirst) == "NV12 1920x1080 5")
        #expect(try RecordedCamera.vividWebcam.best("8000x6000", at: 30, .sizeFirst) == "NV12 3840x2160 2")
    }

    @Test func obeysTheFormatsAskedFor() throws {
        let camera = RecordedCamera.uvcWebcam
        #expect(try camera.ranking("640x480", at: 30, only: .mjpeg).modes[0].short == "MJPG 640x480 30")
        #expect(try camera.ranking("640x480", at: 30, without: [.yuyv]).modes[0].short == "MJPG 640x480 30")
        let error = #expect(throws: CaptureError.self) { try camera.ranking("640x480", at: 30, only: .nv12) }
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message == "The camera has no format NV12; choose one of YUYV, MJPG.")
    }

    @Test func seesThroughNonsense() throws {
        let ranking = try RecordedCamera.liar.ranking("640x480", at: 30)
        #expect(
            ranking.modes.map(\.short) == [
                "YUYV 640x480 30", "MJPG 640x480 30", "YUYV 320x240 30", "MJPG 320x240 30", "NV12 320x240 ?",
            ])
        #expect(ranking.modes[4].isRateVerified == false)
    }

    @Test(arguments: [FourCC.grey, .sbggr8])
    func takesExoticFormatsOnlyWhereTheyCanBeRead(fourCC: FourCC) throws {
        let mode = try RecordedCamera.single(fourCC, isConvertible: true).ranking("640x480", at: 30).modes[0]
        #expect(mode.cost == .library)
        #expect(throws: CaptureError.self) { try RecordedCamera.single(fourCC).ranking("640x480", at: 30) }
    }

    @Test func saysWhatCannotBeTaken() throws {
        let error = #expect(throws: CaptureError.self) { try RecordedCamera.single(.h264).ranking("640x480", at: 30) }
        #expect(error?.code == .formatUnsupported)
        #expect(
            error?.message
                == "The camera offers only H264, which is not supported; choose one that has NV12, YUYV or MJPG.")
        let nothing = #expect(throws: CaptureError.self) { try RecordedCamera().ranking("640x480", at: 30) }
        #expect(nothing?.message.contains("lists no mode") == true)
    }

    @Test func skipsEmulatedFormats() throws {
        var camera = RecordedCamera.single(.yuyv)
        camera.add(.yu12, .all(["640x480"], .rates(30)), isEmulated: true)
        let ranking = try camera.ranking("640x480", at: 30)
        #expect(ranking.modes.map(\.fourCC) == [.yuyv])
        #expect(ranking.unusable.map(\.reason) == [.formatEmulated])
    }
}
