import JPEGCodec
import VideoCapturing

/// Four colors, one in each quarter of a picture: top left, top right, bottom left, bottom right. 0xRRGGBB.
struct Quarters: Equatable, CustomStringConvertible {
    var topLeft: UInt32
    var topRight: UInt32
    var bottomLeft: UInt32
    var bottomRight: UInt32

    static let standard = Quarters(
        topLeft: 0xC02030, topRight: 0x20A040, bottomLeft: 0x3040C0, bottomRight: 0xD0C020)

    static func plain(_ color: UInt32) -> Quarters {
        Quarters(topLeft: color, topRight: color, bottomLeft: color, bottomRight: color)
    }

    subscript(isRight: Bool, isBottom: Bool) -> UInt32 {
        isBottom ? (isRight ? bottomRight : bottomLeft) : (isRight ? topRight : topLeft)
    }

    /// A quarter turn clockwise.
    var rotated: Quarters {
        Quarters(topLeft: bottomLeft, topRight: topLeft, bottomLeft: bottomRight, bottomRight: topRight)
    }

    var mirrored: Quarters {
        Quarters(topLeft: topRight, topRight: topLeft, bottomLeft: bottomRight, bottomRight: bottomLeft)
    }

    func turned(by orientation: VideoOrientation) -> Quarters {
        (0..<orientation.clockwiseDegrees / 90).reduce(self) { result, _ in result.rotated }
    }

    var description: String {
        [topLeft, topRight, bottomLeft, bottomRight].map { String($0, radix: 16) }.joined(separator: " ")
    }
}

extension Quarters {
    /// A frame of these colors, with samples by the equations of BT.601 and BT.709. Sides are multiples of four.
    func frame(
        _ format: PixelFormat = .nv12, width: Int = 64, height: Int = 48, color: ColorDescription? = nil,
        orientation: VideoOrientation = .up, isMirrored: Bool = false, damage: [PixelRect]? = nil, number: UInt64 = 0
    ) throws -> VideoFrame {
        let color = color ?? .assumed(for: format)
        let buffer =
            format == .mjpeg
            ? try compressed(width: width, height: height) : try samples(format, width, height, color)
        return VideoFrame(
            buffer: buffer, timestamp: MonotonicClock().now, sequenceNumber: number, orientation: orientation,
            isMirrored: isMirrored, color: color, damage: damage)
    }

    private func samples(
        _ format: PixelFormat, _ width: Int, _ height: Int, _ color: ColorDescription
    ) throws -> PixelBuffer {
        try PixelBuffer.make(format, width: width, height: height) { pixels in
            for plane in 0..<format.planeCount {
                let rows = pixels.planes[plane].rows
                let rowBytes = pixels.planes[plane].rowBytes
                pixels.fill(plane: plane) { byte, row in
                    let rgb = self[byte * 2 >= rowBytes, row * 2 >= rows]
                    let (y, u, v) = lumaChroma(rgb, color)
                    let (r, g, b) = (UInt8(rgb >> 16 & 255), UInt8(rgb >> 8 & 255), UInt8(rgb & 255))
                    switch format {
                    case .i420: return [y, u, v][plane]
                    case .yv12: return [y, v, u][plane]
                    case .nv12, .nv16: return plane == 0 ? y : [u, v][byte % 2]
                    case .nv21: return plane == 0 ? y : [v, u][byte % 2]
                    case .yuy2: return [y, u, y, v][byte % 4]
                    case .uyvy: return [u, y, v, y][byte % 4]
                    case .argb: return [255, r, g, b][byte % 4]
                    case .bgra: return [b, g, r, 255][byte % 4]
                    case .abgr: return [255, b, g, r][byte % 4]
                    case .rgba: return [r, g, b, 255][byte % 4]
                    case .rgb24: return [r, g, b][byte % 3]
                    case .bgr24: return [b, g, r][byte % 3]
                    case .mjpeg: return 0
                    }
                }
            }
        }
    }

    private func compressed(width: Int, height: Int) throws -> PixelBuffer {
        let frame = try frame(.i420, width: width, height: height, color: .jpeg)
        var result: PixelBuffer?
        try JPEGEncoder(quality: 100).encode(frame) { packet in
            result = try packet.data.withUnsafeBytes {
                try PixelBuffer.compressed($0, as: .mjpeg, width: width, height: height)
            }
        }
        return result!
    }
}

/// ITU-R BT.601-7 and BT.709-6, section 3, rounded.
private func lumaChroma(_ rgb: UInt32, _ color: ColorDescription) -> (y: UInt8, u: UInt8, v: UInt8) {
    let (r, g, b) = (Double(rgb >> 16 & 255) / 255, Double(rgb >> 8 & 255) / 255, Double(rgb & 255) / 255)
    let is601 = color.matrix == .bt601
    let luma = is601 ? 0.299 * r + 0.587 * g + 0.114 * b : 0.2126 * r + 0.7152 * g + 0.0722 * b
    let blue = (b - luma) / (is601 ? 1.772 : 1.8556)
    let red = (r - luma) / (is601 ? 1.402 : 1.5748)
    func code(_ value: Double) -> UInt8 { UInt8(min(max(value.rounded(), 0), 255)) }
    return color.range == .limited
        ? (code(16 + 219 * luma), code(128 + 224 * blue), code(128 + 224 * red))
        : (code(255 * luma), code(128 + 255 * blue), code(128 + 255 * red))
}
