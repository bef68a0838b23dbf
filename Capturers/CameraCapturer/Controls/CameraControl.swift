/// A setting of a camera, as its driver offers it: brightness, exposure, focus, and whatever else there is.
public struct CameraControl: Sendable, Hashable, Identifiable {
    /// What it can be set to.
    public enum Kind: Sendable, Hashable {
        /// A number in a range, in steps that count from its lower end.
        case integer(range: ClosedRange<Int64>, step: Int64)
        /// On or off.
        case boolean
        /// One of several named choices.
        case menu([MenuItem])
        /// One of several numbers.
        case integerMenu([MenuItem])
        /// Bits that may be set.
        case bitmask(Int64)
        /// Does something when it is set; has no value.
        case button
        /// A text of so many bytes.
        case text(lengths: ClosedRange<Int>)
    }

    /// One choice of a menu.
    public struct MenuItem: Sendable, Hashable {
        /// What the driver knows it by. Menus may have gaps.
        public let index: Int64
        /// The choice, for people; of an integer menu the number.
        public let name: String
    }

    /// The number by which drivers know it, `V4L2_CID_…`.
    public let id: UInt32
    /// The name to set it by: `exposure_time_absolute`. Made from the title as `v4l2-ctl` makes it.
    public let name: String
    /// The driver's name for it, for people: `Exposure Time, Absolute`.
    public let title: String
    /// What it can be set to.
    public let kind: Kind
    /// What it is when nobody has set it; nil for buttons and texts.
    public let defaultValue: CameraControlValue?
    /// What it is; nil for what cannot be read.
    public internal(set) var value: CameraControlValue?
    /// The driver's flags, `V4L2_CTRL_FLAG_…`.
    let flags: UInt32
    /// Whether the driver takes the value in 64 bits.
    let isLong: Bool

    /// Whether it tells something and cannot be set.
    public var isReadOnly: Bool { has(0x0004) }
    /// Whether it has no effect now, as another control has taken over: exposure while it is automatic.
    public var isInactive: Bool { has(0x0010) }
    /// Whether the camera changes it by itself.
    public var isVolatile: Bool { has(0x0080) }
    /// Whether it can be set but not read.
    public var isWriteOnly: Bool { has(0x0040) }
    /// Whether it cannot be changed for now, mostly because frames are being captured.
    public var isGrabbed: Bool { has(0x0002) }
    /// Whether setting it changes others.
    var changesOthers: Bool { has(0x0008) }

    private func has(_ flag: UInt32) -> Bool { flags & flag != 0 }

    /// The name to set a control by: letters and digits in lower case, each run of anything else between them one `_`.
    static func name(for title: String) -> String {
        let words = title.utf8.split { byte in
            !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return words.map { String(decoding: $0, as: UTF8.self).lowercased() }.joined(separator: "_")
    }
}
