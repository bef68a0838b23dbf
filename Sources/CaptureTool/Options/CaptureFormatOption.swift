import CameraCapturer

/// Reads the name of a camera's format: `NV12`, `YUYV`, `MJPG`.
public enum CaptureFormatOption {
    /// The format of that name; upper and lower case are the same where that names a known format.
    public static func parse(_ text: String) throws(OptionError) -> FourCC {
        for name in [text, text.uppercased()] {
            if let fourCC = FourCC(name), CaptureFormat.of(fourCC) != nil { return fourCC }
        }
        guard let fourCC = FourCC(text) else {
            throw OptionError(
                "--capture-format", text,
                "no format. Formats have names of four characters, as NV12, YUYV or MJPG; "
                    + "capturer-demo list --modes shows the camera's.")
        }
        return fourCC
    }
}
