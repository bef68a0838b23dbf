import CLibcamera
import VideoCapturing

/// A pixel format that a camera offers for its video stream, with its sizes.
package struct OfferedFormat {
    /// The code of DRM.
    package let fourCC: FourCC
    let smallest: PixelSize
    let largest: PixelSize
    /// The distance from size to size; nil where only the sizes of the list are possible.
    let step: PixelSize?
    let sizes: [PixelSize]

    init(_ format: lc_format, sizes: [PixelSize]) {
        fourCC = FourCC(rawValue: format.fourcc)
        smallest = PixelSize(width: Int(format.min_width), height: Int(format.min_height))
        largest = PixelSize(width: Int(format.max_width), height: Int(format.max_height))
        step =
            format.width_step > 0 && format.height_step > 0
            ? PixelSize(width: Int(format.width_step), height: Int(format.height_step)) : nil
        self.sizes = sizes
    }

    /// For tests.
    package init(
        fourCC: FourCC, smallest: PixelSize, largest: PixelSize, step: PixelSize?, sizes: [PixelSize] = []
    ) {
        self.fourCC = fourCC
        self.smallest = smallest
        self.largest = largest
        self.step = step
        self.sizes = sizes
    }

    /// The sizes to ask the camera for, in turn, until it takes one that is large enough: cameras adjust what they are asked
    /// for to steps of their own, and often downwards. The last resort is the largest.
    package func candidates(for size: PixelSize) -> [PixelSize] {
        var found: [PixelSize] = []
        if step == nil {
            // Of those that are large enough the one with the fewest pixels.
            found += sizes.filter { $0.width >= size.width && $0.height >= size.height }
                .sorted { $0.width * $0.height < $1.width * $1.height }.prefix(1)
        }
        if step != nil || sizes.isEmpty {
            found += [0, 8, 16, 32, 64].map { size.widened(by: $0).clamped(smallest, largest) }
        }
        found.append(step == nil ? sizes.max { $0.width * $0.height < $1.width * $1.height } ?? largest : largest)
        var seen: Set<PixelSize> = []
        return found.filter { seen.insert($0).inserted }
    }

    /// The formats that can be used, the best first: NV12, which needs no conversion, then the cheapest.
    package static func ranked(_ offered: [OfferedFormat]) -> [OfferedFormat] {
        StreamFormat.known.compactMap { known in offered.first { $0.fourCC == known.fourCC } }
    }
}

/// What a camera delivers.
struct StreamFormat: CustomStringConvertible {
    /// The formats that can be read, by the codes of DRM, the best first. DRM names packed formats by little-endian word, so
    /// its BGR888 is red, green, blue in memory.
    static let known: [(fourCC: FourCC, pixelFormat: PixelFormat)] = [
        ("NV12", .nv12), ("NV21", .nv21), ("YU12", .i420), ("YV12", .yv12), ("NV16", .nv16), ("YUYV", .yuy2),
        ("UYVY", .uyvy), ("XR24", .bgra), ("AR24", .bgra), ("XB24", .rgba), ("AB24", .rgba), ("RX24", .abgr),
        ("BX24", .argb), ("BG24", .rgb24), ("RG24", .bgr24),
    ]

    let pixelFormat: PixelFormat
    let size: PixelSize
    let color: ColorDescription
    private let stride: Int

    /// - Throws: `formatUnsupported` for a format or size that cannot be read.
    init(_ stream: lc_stream) throws(CaptureError) {
        let code = FourCC(rawValue: stream.fourcc)
        guard let known = StreamFormat.known.first(where: { $0.fourCC == code }) else {
            throw CaptureError(
                .formatUnsupported, operation: "set the format", subject: "\(code)",
                message: "The camera has changed the format to one that cannot be read; choose another size.")
        }
        pixelFormat = known.pixelFormat
        size = PixelSize(width: Int(stream.width), height: Int(stream.height))
        try VideoFormat(pixelFormat, width: size.width, height: size.height).validate()
        stride = max(Int(stream.stride), pixelFormat.rowBytes(ofPlane: 0, width: size.width))
        color =
            stream.has_color && !pixelFormat.isRGB
            ? ColorDescription(
                matrix: stream.is_bt709 ? .bt709 : .bt601, range: stream.is_full_range ? .full : .limited)
            : .assumed(for: pixelFormat)
    }

    /// The bytes from row to row of a plane; libcamera states those of the first.
    func stride(ofPlane plane: Int) -> Int {
        plane > 0 && pixelFormat.planeCount == 3 ? stride / 2 : stride
    }

    var description: String { "\(pixelFormat) \(size)" }
}

/// From the camera's frames to the delivered ones: cropped to the requested aspect, then scaled down; never scaled up.
package struct DeliveryShape: Equatable {
    /// The part to keep; nil for all of it.
    package let crop: PixelRect?
    /// The size of the delivered frames.
    package let size: PixelSize

    package init(of given: PixelSize, for desired: PixelSize) {
        size = PixelSize(width: min(given.width, desired.width), height: min(given.height, desired.height))
        var part = size
        // Where a side is too short nothing is scaled. A few pixels more, from the steps of a camera's sizes, are cropped too:
        // scaling would cost sharpness.
        if size == desired, given.width - size.width > 16 || given.height - size.height > 16 {
            part = given
            if given.width * desired.height > given.height * desired.width {
                part.width = max(2, given.height * desired.width / desired.height / 2 * 2)
            } else {
                part.height = max(2, given.width * desired.height / desired.width / 2 * 2)
            }
        }
        crop =
            part == given
            ? nil
            : PixelRect(
                x: (given.width - part.width) / 4 * 2, y: (given.height - part.height) / 4 * 2, width: part.width,
                height: part.height)
    }
}

extension PixelSize {
    fileprivate func widened(by count: Int) -> PixelSize { PixelSize(width: width + count, height: height + count) }

    fileprivate func clamped(_ smallest: PixelSize, _ largest: PixelSize) -> PixelSize {
        PixelSize(
            width: min(max(width, smallest.width), max(smallest.width, largest.width)),
            height: min(max(height, smallest.height), max(smallest.height, largest.height)))
    }
}
