import CLibV4L2

/// Which controls are taken over by an automatic: the pairs of the V4L2 specification.
enum AutomaticControls {
    /// A control that others depend on, and what it has to be for them to be set by hand.
    struct Master: Hashable {
        let id: UInt32
        let manual: Int64
    }

    private static let masters: [Int32: Master] = [
        V4L2_CID_EXPOSURE_ABSOLUTE: exposure,
        V4L2_CID_EXPOSURE: exposure,
        V4L2_CID_IRIS_ABSOLUTE: exposure,
        V4L2_CID_GAIN: Master(id: UInt32(V4L2_CID_AUTOGAIN), manual: 0),
        V4L2_CID_WHITE_BALANCE_TEMPERATURE: whiteBalance,
        V4L2_CID_DO_WHITE_BALANCE: whiteBalance,
        V4L2_CID_RED_BALANCE: whiteBalance,
        V4L2_CID_BLUE_BALANCE: whiteBalance,
        V4L2_CID_FOCUS_ABSOLUTE: Master(id: UInt32(V4L2_CID_FOCUS_AUTO), manual: 0),
        V4L2_CID_FOCUS_RELATIVE: Master(id: UInt32(V4L2_CID_FOCUS_AUTO), manual: 0),
        V4L2_CID_HUE: Master(id: UInt32(V4L2_CID_HUE_AUTO), manual: 0),
        V4L2_CID_BRIGHTNESS: Master(id: UInt32(V4L2_CID_AUTOBRIGHTNESS), manual: 0),
        V4L2_CID_ISO_SENSITIVITY: Master(id: UInt32(V4L2_CID_ISO_SENSITIVITY_AUTO), manual: 0),
    ]
    private static let exposure = Master(
        id: UInt32(V4L2_CID_EXPOSURE_AUTO), manual: Int64(V4L2_EXPOSURE_MANUAL.rawValue))
    private static let whiteBalance = Master(id: UInt32(V4L2_CID_AUTO_WHITE_BALANCE), manual: 0)
    private static let identifiers = Set(masters.values.map(\.id))

    /// What has taken a control over, by the specification; nil for a control of which it says nothing.
    static func master(of id: UInt32) -> Master? { Int32(exactly: id).flatMap { masters[$0] } }

    /// Whether a control is to be set before others, since it may make them active.
    static func comesFirst(_ control: CameraControl) -> Bool {
        control.changesOthers || identifiers.contains(control.id)
    }
}
