import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A machine with one webcam that streams: the folders of a ``FakeMachine``, in which real inotify sees what comes and
/// goes, and a ``FakeCamera`` as the driver.
final class StreamingMachine {
    let camera: FakeCamera
    private let machine = FakeMachine()
    private var node: String

    /// - Parameter waitsInDequeue: whether the driver is one in whose `VIDIOC_DQBUF` frames are waited for.
    init(
        _ modes: [FakeCamera.Mode] = [FakeCamera.Mode(fourCC: .nv12, width: 64, height: 48, rate: 200)],
        waitsInDequeue: Bool = false
    ) {
        node = "video0"
        camera = FakeCamera(path: machine.path(node), modes: modes)
        if waitsInDequeue { camera.set { $0.driver = "uvcvideo" } }
        machine.addUSB(node, serial: "A1")
    }

    var directory: CameraDirectory { CameraDirectory(places: machine.places, calls: camera) }
    /// Where the camera is, or was last.
    var path: String { machine.path(node) }

    func unplug() {
        camera.unplug()
        machine.remove(node)
    }

    func plug(as name: String? = nil) {
        node = name ?? node
        camera.plug(at: machine.path(node))
        machine.addUSB(node, serial: "A1")
    }

    /// The machine with a camera that has the controls of a webcam.
    static func withControls(waitsInDequeue: Bool = false) -> StreamingMachine {
        let machine = StreamingMachine(waitsInDequeue: waitsInDequeue)
        machine.camera.set { state in
            state.firstControls = ControlFixture.webcam
            state.controls = state.firstControls
        }
        return machine
    }

    /// What a control is set to; setting it is another program's doing, of which no event tells.
    subscript(control: Int32) -> Int64 {
        get { camera.get { $0.controls[control].value } }
        set { camera.set { $0.controls[control].value = newValue } }
    }

    /// Lets the user open the node again, which `/dev` tells of.
    func permit() {
        camera.set { $0.openError = 0 }
        chmod(path, 0o660)
    }

    /// Something in `/dev` that is of no concern.
    func disturb() {
        machine.write("/dev/ttyACM0", "")
        unlink(machine.path("ttyACM0"))
    }
}
