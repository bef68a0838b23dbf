import CLibV4L2
import V4L2Support
public import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An encoder of this machine that the kernel offers as a V4L2 device (memory to memory), in its state when it was listed.
public struct V4L2EncoderDevice: Sendable, Hashable {
    /// H.264 as V4L2 calls it.
    public static let h264: FourCC = "H264"

    /// The node to open: `/dev/video11`. The number may be another one after each boot.
    public let path: String
    /// The driver's name: `bcm2835-codec`.
    public let driver: String
    /// The device's name to show.
    public let name: String
    /// The pixel formats of ours that it takes, the cheapest one first.
    public let pixelFormats: [PixelFormat]

    /// The encoders of a coded format, by the number of their nodes. They are found by what they can do: nodes that turn
    /// frames into packets of that format. Opens each node for a moment.
    ///
    /// - Parameter codedFormat: as in ``V4L2VideoEncoder/Configuration/codedFormat``.
    /// - Returns: those that this program may open.
    /// - Throws: `unavailable` when there is none, with the reason.
    public static func all(encoding codedFormat: FourCC = h264) throws(CodecError) -> [V4L2EncoderDevice] {
        try all(encoding: codedFormat, MachinePlaces(), SystemDeviceCalls())
    }

    static func all(
        encoding codedFormat: FourCC, _ places: MachinePlaces, _ calls: any DeviceCalls
    ) throws(CodecError) -> [V4L2EncoderDevice] {
        var found: [V4L2EncoderDevice] = []
        var denied: [String] = []
        for video in (try? VideoNode.all(places)) ?? [] {
            do throws(IoctlFailure) {
                let node = try DeviceNode(opening: video.path, calls: calls)
                if let device = V4L2EncoderDevice(node, codedFormat) { found.append(device) }
            } catch {
                if error.number == EACCES || error.number == EPERM { denied.append(video.path) }
            }
        }
        guard found.isEmpty else { return found }
        throw CodecError(
            .unavailable, operation: "find an encoder", subject: "V4L2",
            message: denied.isEmpty
                ? "No V4L2 device encodes \(codedFormat); a Raspberry Pi up to the 4 has one (driver bcm2835-codec)."
                : "No V4L2 device that this user may open encodes \(codedFormat), and \(denied.joined(separator: ", ")) may "
                    + "not be opened; add the user to the group video (sudo usermod -aG video $USER), then log in again."
        )
    }

    /// The encoder that a node is; nil for another kind of node.
    private init?(_ node: DeviceNode, _ codedFormat: FourCC) {
        guard node.capabilities.isMemoryToMemory,
            V4L2EncoderDevice.formats(node, .packets).contains(codedFormat)
        else { return nil }
        let taken = V4L2EncoderDevice.formats(node, .frames)
        let pixelFormats = [PixelFormat.nv12, .i420].filter { format in
            EncoderFormat.fourCC(of: format).map(taken.contains) ?? false
        }
        guard !pixelFormats.isEmpty else { return nil }
        path = node.path
        driver = node.capabilities.driver
        name = node.capabilities.card
        self.pixelFormats = pixelFormats
    }

    private static func formats(_ node: DeviceNode, _ role: BufferQueue.Role) -> Set<FourCC> {
        let type = BufferQueue.bufferType(role, isMultiplanar: node.capabilities.isMemoryToMemoryMultiplanar)
        var formats: Set<FourCC> = []
        // Bounded, whatever the driver answers.
        for index in 0..<UInt32(256) {
            var description = v4l2_fmtdesc()
            description.index = index
            description.type = type
            guard (try? node.request(.enumerateFormats, &description)) != nil else { break }
            formats.insert(FourCC(rawValue: description.pixelformat))
        }
        return formats
    }
}

extension V4L2EncoderDevice: CustomStringConvertible {
    /// `bcm2835-codec-encode (/dev/video11)`.
    public var description: String { "\(name) (\(path))" }
}
