import VideoCapturing

/// Checks what is given for a device.
enum DeviceOption {
    /// Throws for a name of no letters, which a script gives whose variable is not set: it means neither a device nor
    /// the default.
    static func check(_ text: String, of source: CapturerEntry) throws(OptionError) {
        guard text.allSatisfy(\.isWhitespace), let option = source.option(named: "device") else { return }
        let instead = option.defaultValue.map { ", or leave it out for \($0)" } ?? ""
        throw OptionError("--device", text, "names nothing; give \(option.meaning)\(instead).")
    }
}
