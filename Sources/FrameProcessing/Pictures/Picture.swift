import VideoCapturing

/// The pixels of a picture, or of a part of one, as libyuv wants them: for the length of a call only.
///
/// A view that costs nothing to make, so that cropping before another step is free.
struct Picture {
    let pixelFormat: PixelFormat
    let width: Int
    let height: Int
    let planes: PlaneList<PicturePlane>
    /// The bytes of a compressed picture; zero for others.
    var compressedByteCount = 0

    var layout: PixelLayout { pixelFormat.layout }
    /// Luma, or the only plane.
    var y: PicturePlane { planes[0] }
    /// The pairs of chroma of a semiplanar picture.
    var chroma: PicturePlane { planes[1] }
    var u: PicturePlane { planes[pixelFormat.isChromaSwapped ? 2 : 1] }
    var v: PicturePlane { planes[pixelFormat.isChromaSwapped ? 1 : 2] }

    /// The size in samples of each chroma plane of 4:2:0.
    var chromaWidth: Int { (width + 1) / 2 }
    var chromaHeight: Int { (height + 1) / 2 }

    /// The part inside `rect`. Chroma that is shared with pixels outside goes along: the offset of
    /// chroma is rounded down. Packed 4:2:2 can be cut at even columns only.
    func cropped(to rect: PixelRect) -> Picture {
        let format = pixelFormat
        var parts = PlaneList<PicturePlane>()
        for (index, plane) in planes.enumerated() {
            let offset = format.byteOffset(ofPlane: index, x: rect.x, y: rect.y, bytesPerRow: Int(plane.stride))
            parts.append(PicturePlane(base: plane.base + offset, stride: plane.stride))
        }
        return Picture(pixelFormat: format, width: rect.width, height: rect.height, planes: parts)
    }

    /// Some of the rows; the first must be even where chroma has half as many.
    func rows(_ range: Range<Int>) -> Picture {
        cropped(to: PixelRect(x: 0, y: range.lowerBound, width: width, height: range.count))
    }

    /// Upside down: the last row first.
    func flipped() -> Picture {
        var parts = PlaneList<PicturePlane>()
        for (index, plane) in planes.enumerated() {
            let last = pixelFormat.rows(ofPlane: index, height: height) - 1
            parts.append(PicturePlane(base: plane.row(last), stride: -plane.stride))
        }
        return Picture(pixelFormat: pixelFormat, width: width, height: height, planes: parts)
    }
}

/// A plane of a ``Picture``.
struct PicturePlane {
    let base: UnsafePointer<UInt8>
    /// The bytes from row to row; negative in a flipped picture.
    let stride: Int32

    func row(_ index: Int) -> UnsafePointer<UInt8> { base + index * Int(stride) }
}

extension PixelFormat {
    fileprivate func byteOffset(ofPlane plane: Int, x: Int, y: Int, bytesPerRow: Int) -> Int {
        switch layout {
        case .planar: plane == 0 ? y * bytesPerRow + x : y / 2 * bytesPerRow + x / 2
        case .semiplanar: plane == 0 ? y * bytesPerRow + x : y / 2 * bytesPerRow + x / 2 * 2
        case .semiplanar422: plane == 0 ? y * bytesPerRow + x : y * bytesPerRow + x / 2 * 2
        case .packed: y * bytesPerRow + x / 2 * 4
        case .rgb32: y * bytesPerRow + x * 4
        case .rgb24: y * bytesPerRow + x * 3
        case .compressed: 0
        }
    }
}

/// A picture that is being written: for the length of a call only.
struct MutablePicture {
    /// The same memory, to read from.
    let picture: Picture

    var pixelFormat: PixelFormat { picture.pixelFormat }
    var layout: PixelLayout { picture.layout }
    var width: Int { picture.width }
    var height: Int { picture.height }
    var y: MutablePicturePlane { MutablePicturePlane(picture.y) }
    var chroma: MutablePicturePlane { MutablePicturePlane(picture.chroma) }
    var u: MutablePicturePlane { MutablePicturePlane(picture.u) }
    var v: MutablePicturePlane { MutablePicturePlane(picture.v) }

    func plane(_ index: Int) -> MutablePicturePlane { MutablePicturePlane(picture.planes[index]) }
    func rows(_ range: Range<Int>) -> MutablePicture { MutablePicture(picture: picture.rows(range)) }
}

/// A plane of a ``MutablePicture``.
struct MutablePicturePlane {
    let base: UnsafeMutablePointer<UInt8>
    let stride: Int32

    init(base: UnsafeMutablePointer<UInt8>, stride: Int) {
        self.base = base
        self.stride = Int32(stride)
    }

    /// Only for planes that were writable at first; a ``MutablePicture`` keeps to that.
    fileprivate init(_ plane: PicturePlane) {
        base = UnsafeMutablePointer(mutating: plane.base)
        stride = plane.stride
    }

    var readable: PicturePlane { PicturePlane(base: base, stride: stride) }

    func row(_ index: Int) -> UnsafeMutablePointer<UInt8> { base + index * Int(stride) }
}

/// Runs `body` with the rows of a picture in runs that are short enough for what lies between two steps
/// to stay in the cache. Each run but the last is even, so that none divides a row of chroma.
func forEachStrip<Failure: Error>(
    ofHeight height: Int, rows: Int, _ body: (Range<Int>) throws(Failure) -> Void
) throws(Failure) {
    var row = 0
    while row < height {
        let next = min(row + rows, height)
        try body(row..<next)
        row = next
    }
}

/// The rows of a strip where pixels lie between the steps: of 1280 in four bytes they take 80 KiB.
let pixelStripRows = 16

/// The rows of a strip where only chroma of half the width and height does: of 1280 pixels 40 KiB.
let chromaStripRows = 64
