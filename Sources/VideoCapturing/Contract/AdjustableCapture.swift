/// A capture whose device can be set differently for some frames: other exposures for a bracket, another size for a still.
///
/// ```swift
/// try capture.adjust(CaptureAdjustment([.exposure(stops: -2)]))
/// // Some frames later the picture shows it.
/// try capture.endAdjustment()
/// ```
/// A program finds it by ``VideoCapture/adjustable``. Its functions block until the device has answered, and may be called
/// from any thread but that which delivers frames. One user at a time: what one sets, another's end puts back.
public protocol AdjustableCapture: AnyObject, Sendable {
    /// Sets the device, and blocks until it has taken the values; some frames that were exposed before follow. Values that
    /// are relative are so to those before the first adjustment. What an earlier adjustment has set stays, unless it is set
    /// again.
    ///
    /// - Parameter adjustment: the controls to set; automatic modes that override them are switched off.
    /// - Throws: `invalidState` before the device is known; `invalidConfiguration` for a setting that it does not have or a
    ///   value that it cannot take; `deviceLost`; `system`. Controls that were set by then stay until ``endAdjustment()``.
    func adjust(_ adjustment: CaptureAdjustment) throws(CaptureError)

    /// Puts everything back that was adjusted; does nothing where nothing was.
    ///
    /// - Throws: the error of the first setting that could not be put back; the others are.
    func endAdjustment() throws(CaptureError)

    /// Takes a single frame of another size: the device leaves the mode of its stream for it, and goes back. For the
    /// capture's consumers, which do not get this frame, that is an interruption.
    ///
    /// - Parameters:
    ///   - size: the size in pixels, before the orientation is applied.
    ///   - skippedFrames: how many frames in the new mode are passed over, as the exposure of many cameras needs some.
    ///   - timeout: how long to wait for it.
    /// - Returns: the frame; its sequence number is 0, since it is not one of the stream.
    /// - Throws: `invalidState` when the capture does not run, or takes such a frame already; `formatUnsupported` when the
    ///   device has no such size; `stalled` after the timeout; `deviceLost` and others of the device. The stream goes on.
    func captureFrame(
        of size: PixelSize, skippedFrames: Int, timeout: Duration
    ) throws(CaptureError) -> VideoFrame
}

/// The controls of a capture's device that are set for some frames.
public struct CaptureAdjustment: Sendable, Hashable {
    /// One setting.
    public enum Setting: Sendable, Hashable {
        /// The exposure relative to the present one, in stops: -1 is half the light.
        case exposure(stops: Double)
        /// A control by its name in the device, and its value as the device's own option takes it: `gain` and `64`. `focus`
        /// stands for the control that sets the distance.
        case control(name: String, value: String)
    }

    /// The settings, in the order in which they are made.
    public var settings: [Setting]

    /// An adjustment of these settings.
    public init(_ settings: [Setting] = []) {
        self.settings = settings
    }
}

extension VideoCapture {
    /// Nil: there is nothing to adjust.
    public var adjustable: (any AdjustableCapture)? { nil }
    public var endOfLastFrame: MediaTime? { nil }
}
