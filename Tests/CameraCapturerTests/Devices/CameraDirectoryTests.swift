import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct CameraDirectoryTests {
    private let machine = FakeMachine()
    private var directory: CameraDirectory { machine.directory }

    @Test func listsAWebcamWithoutItsMetadataNode() throws {
        machine.addUSB("video0", serial: "ABC", .webcam())
        machine.addUSB("video1", serial: "ABC", index: 1, .metadata)
        let cameras = try directory.cameras()
        #expect(cameras.map(\.path) == [machine.path("video0")])
        #expect(cameras[0].name == "HD Pro Webcam C920")
        #expect(cameras[0].driver == "uvcvideo")
        #expect(cameras[0].bus == "usb-0000:00:14.0-1")
        #expect(cameras[0].access == .usable)
        #expect(cameras[0].id == "usb-046d:082d-ABC-0.0")
        #expect(machine.driver.openCount == 0)
    }

    @Test func takesTheLinksOfUdevForTheID() throws {
        machine.addUSB("video0", serial: "ABC", .webcam())
        machine.link("/dev/v4l/by-path/pci-0000:00:14.0-usb-0:1:1.0-video-index0", to: "../../video0")
        #expect(try directory.cameras()[0].id == "pci-0000:00:14.0-usb-0:1:1.0-video-index0")
        machine.link("/dev/v4l/by-id/usb-046d_HD_Pro_Webcam_C920_ABC-video-index0", to: "../../video0")
        let camera = try directory.cameras()[0]
        #expect(camera.id == "usb-046d_HD_Pro_Webcam_C920_ABC-video-index0")
        for name in [camera.id, camera.links.byPath[0], "usb-046d:082d-ABC-0.0", "usb-0000:00:14.0-1-0.0"] {
            #expect(try directory.camera(id: name)?.path == camera.path)
        }
        #expect(try directory.camera(id: "usb-046d:082d-XYZ-0.0") == nil)
    }

    @Test func tellsEqualCamerasApartByTheirPorts() throws {
        machine.addUSB("video0", port: "1-1", .webcam())
        machine.addUSB("video2", port: "1-2.4", .webcam())
        // udev gives the link that both would have to one of them.
        machine.link("/dev/v4l/by-id/usb-046d_C920-video-index0", to: "../../video2")
        #expect(try directory.cameras().map(\.id) == ["usb-0000:00:14.0-1-0.0", "usb-0000:00:14.0-2.4-0.0"])
        #expect(try directory.camera(id: "usb-046d:082d-0.0") == nil)
    }

    @Test func findsACameraAgainUnderAnotherNumberAndPort() throws {
        machine.addUSB("video0", serial: "ABC", .webcam())
        let known = try #require(try directory.cameras().first)
        machine.remove("video0")
        #expect(try directory.camera(id: known.id) == nil)
        #expect(try directory.camera(like: known) == nil)
        machine.addUSB("video3", port: "1-4", serial: "ABC", .webcam())
        #expect(try directory.camera(id: known.id)?.path == machine.path("video3"))
        #expect(try directory.camera(like: known)?.path == machine.path("video3"))
    }

    @Test func findsACameraAgainBeforeUdevHasMadeItsLinksAndWithATwin() throws {
        machine.addUSB("video0", port: "1-1", .webcam())
        machine.link("/dev/v4l/by-id/usb-046d_C920-video-index0", to: "../../video0")
        let known = try #require(try directory.cameras().first)
        #expect(known.id == "usb-046d_C920-video-index0")
        machine.remove("video0")
        machine.addUSB("video1", port: "1-1", .webcam())
        machine.addUSB("video2", port: "1-2", .webcam())
        #expect(try directory.camera(like: known)?.path == machine.path("video1"))
    }

    @Test func findsADriverAgainThatWasBoundAnewWhileItsNodeWasHeld() throws {
        machine.addPlatform("video0", device: "vivid.0", index: 0, .vivid(0))
        machine.addPlatform("video1", device: "vivid.0", index: 1, .vivid(1))
        let cameras = try directory.cameras()
        #expect(cameras.map(\.id) == ["platform:vivid-000", "platform:vivid-001"])
        machine.remove("video0")
        machine.addPlatform("video4", device: "vivid.0", index: 2, .vivid(0))
        #expect(try directory.camera(like: cameras[0])?.path == machine.path("video4"))
        #expect(try directory.camera(id: cameras[0].id)?.path == machine.path("video4"))
    }

    @Test func listsAPiCameraWithoutCodecsAndRadios() throws {
        machine.addPlatform("video10", device: "bcm2835-codec", .codec)
        machine.addPlatform("video0", device: "fe801000.csi", .unicam)
        machine.addPlatform("radio0", device: "tuner", .init(card: "FM"))
        machine.addPlatform("v4l-subdev0", device: "i2c", .init(card: "imx219"))
        var withoutFormats = FakeControlDriver.Node.vivid(0)
        withoutFormats.formats = 0
        machine.addPlatform("video5", device: "vivid.0", withoutFormats)
        #expect(try directory.cameras().map(\.id) == ["platform:fe801000.csi"])
        #expect(
            try directory.nodes().map(\.access) == [
                .notACamera(.radio), .notACamera(.subdevice), .usable, .notACamera(.withoutFormats),
                .notACamera(.codec),
            ])
    }

    @Test func listsWhatTheUserMayNotOpenAfterTheRest() throws {
        var closed = FakeControlDriver.Node.webcam("Closed")
        closed.openError = EACCES
        machine.addUSB("video0", serial: "A", closed)
        machine.addUSB("video1", serial: "A", index: 1, closed)
        machine.addUSB("video2", port: "1-2", serial: "B", .webcam())
        machine.addPlatform("video10", device: "bcm2835-codec", closed)
        machine.write("/run/udev/data/c81:10", "E:ID_V4L_VERSION=2\nE:ID_V4L_CAPABILITIES=:")
        machine.addPlatform("video11", device: "csi", closed)
        machine.write("/run/udev/data/c81:11", "E:ID_V4L_CAPABILITIES=:capture:")
        let cameras = try directory.cameras()
        #expect(cameras.map(\.number) == [2, 0, 11])
        #expect(cameras[1].name == "Closed")
        #expect(cameras[1].id == "usb-046d:082d-A-0.0")
        #expect(cameras[1].accessError?.code == .permissionDenied)
    }

    @Test func hasNoneWithoutDriversAndSurvivesDamagedEntries() throws {
        #expect(try FakeMachine(hasVideoClass: false).directory.cameras().isEmpty)
        #expect(try directory.cameras().isEmpty)
        machine.link("/sys/class/video4linux/video7", to: "/nowhere")
        machine.link("/sys/class/video4linux/video99999999999999999999", to: "/nowhere")
        machine.link("/sys/class/video4linux/video", to: "/nowhere")
        #expect(try directory.cameras().map(\.access) == [.noNode])
    }
}
