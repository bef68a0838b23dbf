import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What to do on a machine that has no camera, by what kind of machine it is.
struct NoCameraAdvice {
    private let places: MachinePlaces

    init(_ places: MachinePlaces) {
        self.places = places
    }

    /// - Parameter nodes: the video nodes that there are, none of them a camera.
    func error(nodes: [CameraDevice]) -> CaptureError {
        let message: String
        if let node = nodes.first {
            let count =
                nodes.count == 1 ? "The only video node is" : "None of the \(nodes.count) video nodes is a camera;"
            let what = nodes.count == 1 ? "\(node.access)" : "\(node.path) is \(node.access)"
            message = "\(count) \(what), so there is no camera; \(next)."
        } else if FileReading.names(in: places.videoClass) == nil {
            message = "There is no camera, and no driver for one is loaded; \(next)."
        } else {
            message = "There is no camera; \(next)."
        }
        return CaptureError(.deviceNotFound, operation: "find a camera", message: message)
    }

    private var next: String {
        if places.containerMarks.contains(where: { FileReading.status(of: $0) != nil }) {
            return "start the container with --device /dev/video0, or whichever node the camera has outside"
        }
        if FileReading.text(of: places.processes + "/version")?.lowercased().contains("microsoft") == true {
            return "attach the camera to WSL with usbipd"
        }
        if isVirtual {
            return "hand a USB camera through to this virtual machine, then load its driver (sudo modprobe uvcvideo)"
        }
        return "plug one in, or load its driver (sudo modprobe uvcvideo; sudo modprobe vivid makes a test camera)"
    }

    private var isVirtual: Bool {
        let machine = ["sys_vendor", "product_name"].compactMap { FileReading.line(of: "\(places.firmware)/\($0)") }
            .joined(separator: " ").lowercased()
        return ["qemu", "kvm", "virtualbox", "vmware", "virtual machine", "xen"].contains { machine.contains($0) }
    }
}
