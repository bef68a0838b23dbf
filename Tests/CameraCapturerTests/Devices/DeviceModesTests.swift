import CLibV4L2
import Testing
import V4L2Support
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Modes asked of a device, by the calls that are made.
@Suite struct DeviceModesTests {
    private let driver = FakeCamera(modes: [
        .init(fourCC: .yuyv, width: 640, height: 480, rate: 30),
        .init(fourCC: .nv12, width: 640, height: 480, rate: 30),
        .init(fourCC: .nv12, width: 640, height: 480, rate: 15),
        .init(fourCC: .nv12, width: 320, height: 240, rate: 60),
    ])

    private var camera: CameraDevice {
        get throws {
            CameraDevice(
                id: "fake", name: "Fake Camera", path: driver.get(\.path), bus: "platform:fake", driver: "fake",
                access: .usable, links: .init(),
                node: try #require(VideoNode(name: "video0", MachinePlaces(root: "/nowhere"))))
        }
    }

    @Test func modesAreListed() throws {
        let groups = try camera.modes(driver)
        #expect(groups.map(\.fourCC) == [.yuyv, .nv12])
        #expect(groups[1].entries.map { "\($0.sizes): \($0.rates)" } == ["640x480: 30 15 fps", "320x240: 60 fps"])
        #expect(!driver.isOpen)
    }

    @Test func theChoiceIsMadeWithoutSettingAnything() throws {
        let request = CameraMode.Request(size: .vga640x480, rate: 30)
        let decision = try camera.decide(request, driver)
        #expect("\(decision.negotiated)" == "NV12 640x480 at 30 fps")
        #expect(decision.rejected.count == 2)
        #expect(!driver.isOpen)
        for request in [clibv4l2_S_FMT, clibv4l2_S_PARM, clibv4l2_S_DV_TIMINGS, clibv4l2_S_INPUT, clibv4l2_REQBUFS] {
            #expect(driver.calls(of: request) == 0)
        }
    }

    @Test func aFormatThatIsNotThereIsRefused() throws {
        let request = CameraMode.Request(size: .vga640x480, rate: 30, requiredFourCC: .mjpeg)
        let error = #expect(throws: CaptureError.self) { try camera.decide(request, driver) }
        #expect(error?.code == .formatUnsupported)
        #expect("\(error!)".contains("no format MJPG; choose one of YUYV, NV12."))
        #expect(!driver.isOpen)
    }

    @Test func aCameraThatIsGoneIsToldSo() throws {
        driver.set { $0.isPlugged = false }
        let error = #expect(throws: CaptureError.self) { try camera.modes(driver) }
        #expect(error?.code == .deviceLost)
    }

    /// Pulled out between two questions: no list is half the truth.
    @Test func aCameraThatGoesWhileItIsAskedIsToldSo() throws {
        driver.set { $0.refusals = [.init(request: clibv4l2_ENUM_FRAMEINTERVALS, after: 2, times: 99, number: ENODEV)] }
        let error = #expect(throws: CaptureError.self) { try camera.modes(driver) }
        #expect(error?.code == .deviceLost)
        #expect(!driver.isOpen)
    }

    private static let enumerations = [clibv4l2_ENUM_FMT, clibv4l2_ENUM_FRAMESIZES, clibv4l2_ENUM_FRAMEINTERVALS]

    /// A camera that fails in the middle of a list does not pass for one with fewer modes.
    @Test(arguments: enumerations, [EIO, EINTR, ENOSPC, EPROTO])
    func aCameraThatFailsWhileItIsAskedIsToldSo(request: UInt, number: Int32) throws {
        driver.set { $0.refusals = [.init(request: request, after: 1, times: .max, number: number)] }
        let error = #expect(throws: CaptureError.self) { try camera.modes(driver) }
        #expect(error?.code == .system && error?.systemError == number, "\(error as Any)")
        #expect(!driver.isOpen)
    }

    @Test(arguments: enumerations, [EIO, EINTR, EAGAIN])
    func aSingleFailureCostsNoMode(request: UInt, number: Int32) throws {
        let whole = try camera.modes(driver)
        driver.set { $0.refusals = [.init(request: request, after: 1, times: 1, number: number)] }
        #expect(try camera.modes(driver) == whole)
    }

    @Test(arguments: [EINVAL, ENOTTY])
    func aDriverThatListsNoRatesIsTakenAsItIs(number: Int32) throws {
        driver.set { $0.refusals = [.init(request: clibv4l2_ENUM_FRAMEINTERVALS, times: .max, number: number)] }
        #expect(try camera.modes(driver).map(\.fourCC) == [.yuyv, .nv12])
    }
}
