import VideoCapturing

/// How the pictures of a mode become those that are delivered: cut, then scaled down; never scaled up.
public struct DeliveryPlan: Sendable, Hashable {
    /// The part of the camera's picture that is kept: in its middle, at even offsets and of even size, so that chroma
    /// of 4:2:0 is cut between its samples. Nil for all of it.
    public let crop: PixelRect?
    /// The size in which pictures are delivered.
    public let size: PixelSize
    /// The rate to which frames are to be thinned out; nil when the camera gives no more than the desired rate.
    public let decimatedRate: FrameRate?
    /// Whether pictures are delivered as large as they come, uncut.
    public let isWhole: Bool

    /// The plan for pictures of the size and rate of `mode`.
    init(_ mode: CameraMode, for request: CameraModeRequest) {
        let (given, desired) = (mode.size, request.size)
        if given.width >= desired.width, given.height >= desired.height {
            crop = DeliveryPlan.crop(of: given, to: desired)
            size = desired
        } else {
            // What is missing on one side is not made up for; what is too much on the other is cut.
            size = PixelSize(width: min(given.width, desired.width), height: min(given.height, desired.height))
            crop = size == given ? nil : DeliveryPlan.centred(size, in: given)
        }
        isWhole = crop == nil && size == given
        let isSlowEnough = mode.rate.map { $0.isWithin(request.rate) } ?? false
        decimatedRate = isSlowEnough ? nil : request.rate
    }

    /// The largest part of `given` that has the aspect of `desired`, to the nearest even number of pixels; nil when
    /// that is all of it.
    static func crop(of given: PixelSize, to desired: PixelSize) -> PixelRect? {
        var part = given
        if given.width * desired.height > given.height * desired.width {
            part.width = nearestEven(given.height * desired.width, desired.height, below: given.width)
        } else {
            part.height = nearestEven(given.width * desired.height, desired.width, below: given.height)
        }
        return part == given ? nil : centred(part, in: given)
    }

    /// The even number nearest to a fraction, at least 2; `limit` when no pair of pixels would be cut away.
    private static func nearestEven(_ numerator: Int, _ denominator: Int, below limit: Int) -> Int {
        let even = (numerator + denominator) / (2 * denominator) * 2
        return even + 2 > limit ? limit : max(2, even)
    }

    private static func centred(_ part: PixelSize, in whole: PixelSize) -> PixelRect {
        PixelRect(
            x: (whole.width - part.width) / 4 * 2, y: (whole.height - part.height) / 4 * 2, width: part.width,
            height: part.height)
    }
}
