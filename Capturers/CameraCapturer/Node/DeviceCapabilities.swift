import CLibV4L2

/// What a driver says of itself (`VIDIOC_QUERYCAP`).
struct DeviceCapabilities: Hashable, Sendable {
    /// The driver's name: `uvcvideo`.
    var driver: String
    /// The device's name, for people.
    var card: String
    /// Where it is attached: `usb-0000:00:14.0-1`.
    var bus: String
    /// What this node can do, `V4L2_CAP_…`; not what the other nodes of the device can.
    var flags: UInt32

    /// Whether pictures are captured in several planes of memory (`V4L2_CAP_VIDEO_CAPTURE_MPLANE`).
    var isMultiplanar: Bool { !has(V4L2_CAP_VIDEO_CAPTURE) && has(V4L2_CAP_VIDEO_CAPTURE_MPLANE) }

    /// Whether the node gives pictures in buffers that can be mapped; codecs, radios, metadata nodes and nodes that
    /// need a media graph to be set up do not.
    var isCamera: Bool {
        (has(V4L2_CAP_VIDEO_CAPTURE) || has(V4L2_CAP_VIDEO_CAPTURE_MPLANE)) && has(V4L2_CAP_STREAMING)
            && !has(V4L2_CAP_VIDEO_M2M) && !has(V4L2_CAP_VIDEO_M2M_MPLANE) && !has(V4L2_CAP_IO_MC)
    }

    /// Whether a wait in `VIDIOC_DQBUF` is known to end when another thread calls `VIDIOC_STREAMOFF`, and when the device
    /// goes.
    ///
    /// `videobuf2` sees to the first where the driver frees its lock meanwhile (`wait_prepare`); the second each driver
    /// has to see to. So it is those whose source was read, and which are tested with a device that goes.
    var endsWaits: Bool { ["uvcvideo", "vivid"].contains(driver) }

    private func has(_ flag: Int32) -> Bool { flags & UInt32(bitPattern: flag) != 0 }
}

extension DeviceCapabilities {
    init(_ capability: v4l2_capability) {
        driver = text(capability.driver)
        card = text(capability.card)
        bus = text(capability.bus_info)
        let hasOwn = capability.capabilities & V4L2_CAP_DEVICE_CAPS != 0
        flags = hasOwn ? capability.device_caps : capability.capabilities
    }
}

/// The text in a field of fixed size, up to its first zero byte, without what would disturb a terminal.
func text<Field>(_ field: Field) -> String {
    withUnsafeBytes(of: field) { bytes in
        let characters = bytes.prefix { $0 != 0 }
        return String(decoding: characters, as: UTF8.self).filter { character in
            character.unicodeScalars.allSatisfy { $0.value >= 32 && !(127..<160).contains($0.value) }
        }
    }
}
