import VideoCapturing

/// The processing from a mode's frames to the delivered ones: cropped, then scaled down; never scaled up.
package struct DeliveryPlan: Sendable, Hashable {
    /// The part of the camera's frame to keep: centered, at even offsets and of even size, so that 4:2:0 chroma is
    /// cropped between its samples. Nil for all of it.
    package let crop: PixelRect?
    /// The size of the delivered frames.
    package let size: PixelSize
    /// The rate to which frames are decimated; nil when the camera's rate does not exceed the desired one.
    package let decimatedRate: FrameRate?
    /// Whether frames are delivered in the camera's size, neither cropped nor scaled.
    package let isWhole: Bool

    /// The plan for frames of the size and rate of `mode`.
    init(_ mode: CameraMode, for request: CameraMode.Request) {
        let (given, desired) = (mode.size, request.media.isPackets ? mode.size : request.size)
        if given.width >= desired.width, given.height >= desired.height {
            crop = DeliveryPlan.crop(of: given, to: desired)
            size = desired
        } else {
            // A side that is too small stays; a side that is too large is cropped.
            size = PixelSize(width: min(given.width, desired.width), height: min(given.height, desired.height))
            crop = size == given ? nil : DeliveryPlan.centered(size, in: given)
        }
        isWhole = crop == nil && size == given
        // Packets of other codecs than JPEG need each other.
        let needsAll = request.media.isPackets && Codec(mode.fourCC) != .jpeg
        let isSlowEnough = needsAll || mode.rate.map { $0.isWithin(request.rate) } ?? false
        decimatedRate = isSlowEnough ? nil : request.rate
    }

    /// The largest part of `given` with the aspect ratio of `desired`, to the nearest even number of pixels; nil when
    /// that is all of it.
    static func crop(of given: PixelSize, to desired: PixelSize) -> PixelRect? {
        var part = given
        if given.width * desired.height > given.height * desired.width {
            part.width = nearestEven(given.height * desired.width, desired.height, below: given.width)
        } else {
            part.height = nearestEven(given.width * desired.height, desired.width, below: given.height)
        }
        return part == given ? nil : centered(part, in: given)
    }

    /// The even number nearest to a fraction, at least 2; `limit` when no pair of pixels would be cropped.
    private static func nearestEven(_ numerator: Int, _ denominator: Int, below limit: Int) -> Int {
        let even = (numerator + denominator) / (2 * denominator) * 2
        return even + 2 > limit ? limit : max(2, even)
    }

    private static func centered(_ part: PixelSize, in whole: PixelSize) -> PixelRect {
        PixelRect(
            x: (whole.width - part.width) / 4 * 2, y: (whole.height - part.height) / 4 * 2, width: part.width,
            height: part.height)
    }
}
