import CLibV4L2
import V4L2Support
import VideoCapturing

/// Which part of its picture a device captures (the crop), and where in the frame that lies (the composition), for drivers
/// that tell (`VIDIOC_G_SELECTION`).
enum PictureRegion {
    /// Makes the device capture its whole picture, since another program may have left a crop. Refusals are ignored.
    static func resetCrop(_ node: DeviceNode) {
        guard let whole = rectangle(V4L2_SEL_TGT_CROP_DEFAULT, node), whole.width > 0, whole.height > 0 else { return }
        set(V4L2_SEL_TGT_CROP, to: whole, node)
    }

    /// Makes the picture fill the frame: a frame that has become larger than the composition, which an earlier format has
    /// left, has a border otherwise. Refusals are ignored.
    ///
    /// - Returns: whether the driver has changed anything, after which it may have another format.
    static func fillFrame(width: UInt32, height: UInt32, _ node: DeviceNode) -> Bool {
        set(V4L2_SEL_TGT_COMPOSE, to: v4l2_rect(left: 0, top: 0, width: width, height: height), node)
    }

    /// The shape of the pixels of frames: that of the signal's samples (`VIDIOC_CROPCAP`), and what the driver makes of it
    /// where it scales the width and the height by different factors.
    ///
    /// The pixels of a single field are as high as two lines of its frame, in which crops are stated.
    ///
    /// Only of grabbers: drivers of sensors report crops that are not those of their modes. Within 2.5 % of square it is
    /// square, as analog video is narrower than the samples of a line by that much (ITU-R BT.601: 702 of 720).
    static func pixelAspect(_ format: StreamFormat, _ node: DeviceNode) -> PixelAspect {
        let lineHeight = format.isSingleField ? 2 : 1
        guard VideoInput.hasSignal(node) else { return PixelAspect(width: 1, height: lineHeight) ?? .square }
        var capabilities = v4l2_cropcap()
        capabilities.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        guard (try? node.request(.cropCapabilities, &capabilities)) != nil else { return .square }
        // The height by the width.
        let own =
            PixelAspect(
                width: Int(capabilities.pixelaspect.denominator), height: Int(capabilities.pixelaspect.numerator))
            ?? .square
        var (wide, high) = (Int(own.width), Int(own.height))
        if let crop = rectangle(V4L2_SEL_TGT_CROP, node), crop.width > 0, crop.height > 0 {
            let shown = format.isSingleField ? nil : rectangle(V4L2_SEL_TGT_COMPOSE, node)
            wide *= Int(crop.width) * (shown.map { Int($0.height) } ?? format.height)
            high *= Int(crop.height) * (shown.map { Int($0.width) } ?? format.width)
        } else {
            high *= lineHeight
        }
        let aspect = PixelAspect(width: wide, height: high) ?? .square
        return abs(aspect.ratio - 1) > 0.025 ? aspect : .square
    }

    private static func rectangle(_ target: Int32, _ node: DeviceNode) -> v4l2_rect? {
        var selection = v4l2_selection()
        selection.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        selection.target = UInt32(target)
        return (try? node.request(.getSelection, &selection)) != nil ? selection.r : nil
    }

    @discardableResult
    private static func set(_ target: Int32, to wanted: v4l2_rect, _ node: DeviceNode) -> Bool {
        guard let now = rectangle(target, node),
            (now.left, now.top, now.width, now.height) != (wanted.left, wanted.top, wanted.width, wanted.height)
        else { return false }
        var selection = v4l2_selection()
        selection.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        selection.target = UInt32(target)
        selection.r = wanted
        return (try? node.request(.setSelection, &selection)) != nil
    }
}
