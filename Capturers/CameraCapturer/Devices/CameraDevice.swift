/// A camera of this machine, as it was when it was listed.
public struct CameraDevice: Sendable, Hashable, Identifiable {
    /// Names the camera across replugs and reboots, whichever `/dev` number it gets; see ``CameraDirectory`` for how
    /// it is made.
    public let id: String
    /// The camera's name, for people: `HD Pro Webcam C920`.
    public let name: String
    /// The node to open: `/dev/video0`. Another one after a replug, maybe.
    public let path: String
    /// Where it is attached, as the driver says it: `usb-0000:00:14.0-1`.
    public let bus: String
    /// The driver's name: `uvcvideo`. Empty when the node could not be opened.
    public let driver: String
    /// Whether this program may use it.
    public let access: CameraAccess
    /// The names of its links in `/dev/v4l/by-id` and `/dev/v4l/by-path`; none without udev.
    public let links: Links
    /// What the kernel knows of it without opening it.
    let node: VideoNode

    /// The names under which udev has linked to a node, without their folders.
    public struct Links: Sendable, Hashable {
        public internal(set) var byID: [String] = []
        public internal(set) var byPath: [String] = []

        var all: [String] { byID + byPath }
    }

    /// The number in `/dev/videoN`.
    public var number: Int { node.number }
}

extension CameraDevice: CustomStringConvertible {
    /// `HD Pro Webcam C920 (/dev/video0)`.
    public var description: String { "\(name) (\(path))" }
}
