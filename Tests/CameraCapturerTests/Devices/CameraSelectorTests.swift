import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct CameraSelectorTests {
    private let machine = FakeMachine()

    private func path(_ text: String?) throws -> String {
        try CameraSelector(text).resolve(in: machine.directory).path
    }

    private func error(_ text: String?, _ machine: FakeMachine? = nil) -> CaptureError? {
        #expect(throws: CaptureError.self) {
            try CameraSelector(text).resolve(in: (machine ?? self.machine).directory)
        }
    }

    /// A webcam with its metadata node, another webcam, and a codec.
    private func fill() {
        machine.addUSB("video0", serial: "ABC", .webcam())
        machine.addUSB("video1", serial: "ABC", index: 1, .metadata)
        machine.addUSB("video2", port: "1-2", product: "0c45:6366", .webcam("USB 2.0 Camera"))
        machine.addPlatform("video10", device: "bcm2835-codec", .codec)
        machine.link("/dev/v4l/by-id/usb-046d_C920_ABC-video-index0", to: "../../video0")
        machine.link("/dev/v4l/by-path/pci-usb-0:2:1.0-video-index0", to: "../../video2")
        machine.link("/dev/cam", to: "video2")
    }

    @Test func takesEveryNameOfACamera() throws {
        fill()
        let names: [(String?, String)] = [
            (nil, "video0"), ("0", "video0"), ("2", "video2"), ("video2", "video2"), ("c920", "video0"),
            ("usb 2.0 camera", "video2"), ("usb-046d_C920_ABC-video-index0", "video0"),
            ("by-id/usb-046d_C920_ABC-video-index0", "video0"),
            ("v4l/by-path/pci-usb-0:2:1.0-video-index0", "video2"),
            ("pci-usb-0:2:1.0-video-index0", "video2"), ("usb-046d:082d-ABC-0.0", "video0"),
            (machine.path("video2"), "video2"), (machine.path("cam"), "video2"),
            (machine.path("v4l/by-id/usb-046d_C920_ABC-video-index0"), "video0"),
        ]
        for (name, node) in names { #expect(try path(name) == machine.path(node), "\(name ?? "none")") }
    }

    @Test func saysWhatAPathIsThatIsNoCamera() {
        fill()
        let paths = [
            (machine.path("video10"), "a codec"), ("10", "a codec"), (machine.path("video1"), "a metadata node"),
            (machine.path(""), "a folder"), (machine.root + "/sys/class/video4linux/video0/name", "a file"),
            ("/dev/null", "a device of another kind"),
        ]
        for (path, kind) in paths {
            let error = error(path)
            #expect(error?.code == .invalidConfiguration)
            #expect(
                error?.message.hasPrefix("This is \(kind), not a camera; ") == true, "\(path): \(error?.message ?? "")")
        }
    }

    @Test func namesTheCamerasThatThereAre() {
        fill()
        let unknown = error("HD Pro Webcam C290")
        #expect(unknown?.code == .deviceNotFound)
        #expect(unknown?.message.contains("did you mean \"HD Pro Webcam C920\"?") == true)
        #expect(unknown?.message.contains("USB 2.0 Camera (\(machine.path("video2")))") == true)
        #expect(error("/dev/video77")?.code == .deviceNotFound)
        #expect(error("77")?.code == .deviceNotFound)
        #expect(error(String(repeating: "/", count: 100_000) + "x")?.code == .deviceNotFound)
        let ambiguous = error("cam")
        #expect(ambiguous?.code == .invalidConfiguration)
        #expect(ambiguous?.message.hasPrefix("This fits 2 cameras; ") == true)
    }

    @Test func tellsEqualCamerasApartByTheirIDs() {
        machine.addUSB("video0", port: "1-1", .webcam())
        machine.addUSB("video2", port: "1-2", .webcam())
        #expect(error("C920")?.message.contains("usb-0000:00:14.0-2-0.0") == true)
    }

    @Test func saysWhatToDoWithoutACamera() {
        let none = error(nil)
        #expect(none?.code == .deviceNotFound)
        #expect(none?.message == "There is no camera; \(plugIn).")
        #expect(
            error(nil, FakeMachine(hasVideoClass: false))?.message
                == "There is no camera, and no driver for one is loaded; \(plugIn).")
        machine.addPlatform("video10", device: "bcm2835-codec", .codec)
        #expect(error("C920")?.message.hasPrefix("The only video node is a codec, so there is no camera; ") == true)

        let container = FakeMachine()
        container.write("/.dockerenv", "")
        #expect(error(nil, container)?.message.contains("--device /dev/video0") == true)
        let guest = FakeMachine()
        guest.write("/sys/class/dmi/id/sys_vendor", "QEMU")
        #expect(error(nil, guest)?.message.contains("virtual machine") == true)
    }

    private let plugIn =
        "plug one in, or load its driver (sudo modprobe uvcvideo; sudo modprobe vivid makes a test camera)"

    @Test func prefersWhatCanBeUsedAndElseSaysWhyNot() throws {
        var closed = FakeControlDriver.Node.webcam("Front camera")
        closed.openError = EACCES
        machine.addUSB("video0", closed)
        #expect(error(nil)?.code == .permissionDenied)
        #expect(error("front")?.code == .permissionDenied)
        machine.addUSB("video4", port: "1-2", product: "1:2", .webcam("Back camera"))
        #expect(try path(nil) == machine.path("video4"))
        #expect(try path("camera") == machine.path("video4"))
        machine.driver[machine.path("video4")]?.openError = ENODEV
        #expect(error("back")?.code == .deviceLost)
        machine.driver[machine.path("video4")]?.openError = EBUSY
        #expect(error("back")?.code == .deviceBusy)
        machine.driver[machine.path("video4")] = nil
        #expect(error("back")?.message.contains("--device") == true)
    }

    @Test(arguments: ["", "  ", "\n"])
    func refusesAnEmptyName(text: String) {
        fill()
        let error = error(text)
        #expect(error?.code == .invalidConfiguration && error?.subject == nil)
        #expect("\(error!)".hasPrefix("The name of the camera is empty; "))
    }
}
