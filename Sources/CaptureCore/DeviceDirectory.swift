/// The devices that a capturer of a `CapturerCatalog` can capture from, for listings.
///
/// ```swift
/// let listing = try entry.devices?.list(OptionValues())
/// ```
public struct DeviceDirectory: Sendable {
    /// What they are, in the plural and as the name of a list in JSON: `cameras`, `screens`.
    public var name: String
    /// Options that choose a device and its listed details.
    public var options: [OptionDescription]
    /// Lists the devices. Without values none is needed and all are listed in short; with values of ``options`` it throws
    /// when no device answers them: `OptionError` for an invalid value, `CaptureError` for devices.
    public var list: @Sendable (OptionValues) throws -> DeviceDirectory.Listing

    /// The devices of a capturer.
    ///
    /// - Parameters:
    ///   - name: what they are, in the plural and as the name of a list in JSON.
    ///   - options: options that choose a device and its listed details.
    ///   - list: lists the devices.
    public init(
        name: String, options: [OptionDescription] = [],
        list: @escaping @Sendable (OptionValues) throws -> DeviceDirectory.Listing
    ) {
        self.name = name
        self.options = options
        self.list = list
    }
}

extension DeviceDirectory {
    /// Devices, for people and for programs.
    public struct Listing: Sendable {
        /// Lines of text, safe to show on a terminal.
        public var lines: [String]
        /// A value for each device. Within a version members may be added, but none changes its meaning.
        public var json: [JSONValue]

        /// A listing.
        public init(lines: [String], json: [JSONValue]) {
            self.lines = lines
            self.json = json
        }
    }
}
