import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

@Suite struct ModeListingTests {
    private func groups(_ camera: RecordedCamera) throws -> [CameraMode.Group] {
        var source = camera
        return try CameraMode.Group.all(from: &source, isConvertible: { camera.convertible.contains($0) })
    }

    /// The lines of a format, as in `640x480: 30 25 fps`.
    private func lines(_ fourCC: FourCC, of camera: RecordedCamera) throws -> [String] {
        let group = try #require(try groups(camera).first { $0.fourCC == fourCC })
        return group.entries.map { "\($0.sizes): \($0.rates)" }
    }

    @Test func aWebcamsModesAreInItsOrderTheFastestRateFirst() throws {
        let groups = try groups(.uvcWebcam)
        #expect(groups.map(\.fourCC) == [.yuyv, .h264, .mjpeg])
        #expect(groups.map(\.cost) == [.subsample, nil, .decode])
        #expect(groups.map(\.isUsable) == [true, false, true])
        let lines = try lines(.yuyv, of: .uvcWebcam)
        #expect(lines.first == "640x480: 30 24 20 15 10 7.5 5 fps")
        #expect(lines.last == "1920x1080: 5 fps")
        #expect(lines.count == 12)
    }

    @Test func rangesAreToldAsRanges() throws {
        #expect(
            try lines(.nv12, of: .raspberryPi) == ["32x32 to 2592x1944 in steps of 2x2: 1 to 90 fps"])
    }

    @Test func whatIsSlowerInTheLargestSizeOfARangeIsTold() throws {
        var camera = SizedRates()
        let entries = try #require(
            try CameraMode.Group.all(from: &camera, isConvertible: { _ in false }).first?.entries)
        #expect(entries.map { "\($0.sizes): \($0.rates)" } == ["64x64 to 1920x1080: 30 fps", "64x64: 120 fps"])
    }

    /// The driver is asked size by size, and its one rate is that of now.
    @Test func aGrabberWithoutListsHasTheSizeAndRateOfItsSignal() throws {
        #expect(try lines(.nv12, of: .hdmiGrabber) == ["1920x1080: 59.94 fps (not listed by the driver)"])
        var unknown = RecordedCamera.hdmiGrabber
        unknown.interval = nil
        #expect(try lines(.nv12, of: unknown) == ["1920x1080: an unknown rate"])
    }

    @Test func ratesAreExact() throws {
        let group = try #require(try groups(.television).first)
        #expect(group.entries[0].rates == .discrete([FrameRate(30000, per: 1001)!]))
        #expect("\(group.entries[0].rates)" == "29.97 fps")
    }

    @Test func repetitionsAndNonsenseAreLeftOut() throws {
        let groups = try groups(.liar)
        #expect(groups.map(\.fourCC) == [.yuyv, .mjpeg, .nv12])
        let sizes = try lines(.mjpeg, of: .liar)
        #expect(sizes == ["640x480: 30 fps", "320x240: 30 fps"])
        #expect(groups[2].entries.map { "\($0.rates)" } == ["an unknown rate"])
    }

    @Test func emulatedFormatsAreNotUsable() throws {
        var camera = RecordedCamera()
        camera.add(.nv12, .all(["640x480"], .rates(30)), isEmulated: true)
        let group = try #require(try groups(camera).first)
        #expect(group.isEmulated && !group.isUsable && group.cost == CameraMode.ConversionCost.none)
    }
}

/// Any size; the rate depends on it.
private struct SizedRates: ModeSource {
    func formats() -> [FormatEntry] {
        [FormatEntry(fourCC: .nv12, name: "NV12", isEmulated: false, isCompressed: false)]
    }

    func frameSizes(of fourCC: FourCC) -> FrameSizes {
        .range(
            FrameSizeRange(minWidth: 64, maxWidth: 1920, stepWidth: 0, minHeight: 64, maxHeight: 1080, stepHeight: 1))
    }

    func frameIntervals(of fourCC: FourCC, size: PixelSize) -> FrameIntervals {
        size.width > 1000 ? .rates(30) : .rates(120)
    }

    func tryFormat(_ fourCC: FourCC, size: PixelSize) -> (FourCC, PixelSize)? { nil }
    func currentInterval() -> FrameInterval? { nil }
}
