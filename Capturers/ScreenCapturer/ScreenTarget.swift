/// What of a display is captured.
public enum ScreenTarget: Sendable, Hashable {
    /// All of it, with every monitor.
    case desktop
    /// One monitor, by the name that RandR gives it, as `HDMI-1`; or `primary`.
    case monitor(String)
    /// One window, by its identifier.
    case window(UInt32)
    /// The window whose title is this, or else the first with a title that has it as a part; upper and lower case are
    /// the same.
    case windowTitled(String)
    /// The window that is clicked next; `initCapture` waits for it.
    case clickedWindow
}
