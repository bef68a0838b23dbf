/// The sizes that OpenTok's and AVFoundation's session presets name.
extension PictureSize {
    /// 352×288: CIF.
    public static let cif352x288 = PictureSize(width: 352, height: 288)
    /// 640×480: VGA.
    public static let vga640x480 = PictureSize(width: 640, height: 480)
    /// 1280×720.
    public static let hd1280x720 = PictureSize(width: 1280, height: 720)
    /// 1920×1080.
    public static let hd1920x1080 = PictureSize(width: 1920, height: 1080)
    /// 3840×2160.
    public static let uhd3840x2160 = PictureSize(width: 3840, height: 2160)
}
