import CLibYUV
import VideoCapturing

extension MutablePicture {
    /// Changes matrix and range of a 4:2:0 picture in place.
    func recolor(
        from old: ColorDescription, to new: ColorDescription, scratch: inout ScratchMemory
    ) throws(CaptureError) {
        let recoloring = Recoloring(from: old, to: new)
        let (width, height) = (picture.chromaWidth, picture.chromaHeight)
        if layout == .planar {
            for row in 0..<height {
                recolorRows(recoloring, row, u: u.row(row), v: v.row(row))
            }
            return
        }
        let planes = try scratch.reservePlanes(2, rowBytes: width, rows: 1)
        let (u, v) = pixelFormat.isChromaSwapped ? (planes[1], planes[0]) : (planes[0], planes[1])
        for row in 0..<height {
            let pairs = chroma.row(row)
            SplitUVPlane(pairs, 0, planes[0].base, 0, planes[1].base, 0, Int32(width), 1)
            recolorRows(recoloring, row, u: u.base, v: v.base)
            MergeUVPlane(planes[0].base, 0, planes[1].base, 0, pairs, 0, Int32(width), 1)
        }
    }

    /// A row of chroma and the one or two rows of luma that go with it.
    private func recolorRows(
        _ recoloring: Recoloring, _ row: Int, u: UnsafeMutablePointer<UInt8>, v: UnsafeMutablePointer<UInt8>
    ) {
        // Luma first: it depends on the chroma as it was.
        for row in row * 2..<min(row * 2 + 2, height) { recoloring.recolorLuma(y.row(row), u, v, width) }
        recoloring.recolorChroma(u, v, picture.chromaWidth)
    }
}

/// From one matrix and range to another. Grey stays grey, so chroma depends on chroma alone.
struct Recoloring {
    /// Y' = (luma[0]·Y + luma[1]·U + luma[2]·V + luma[3]) / 65536, U and V less 128.
    private let luma: SIMD4<Int32>
    /// U' = (chroma[0]·U + chroma[1]·V) / 65536, V' = (chroma[2]·U + chroma[3]·V) / 65536, all less 128.
    private let chroma: SIMD4<Int32>
    private let keepsMatrix: Bool

    init(from old: ColorDescription, to new: ColorDescription) {
        let (before, after) = (ColorEquations(old), ColorEquations(new))
        func map(_ y: Double, _ u: Double, _ v: Double) -> (y: Double, u: Double, v: Double) {
            let rgb = before.rgb(y: y, u: u, v: v)
            return after.lumaChroma(red: rgb.red, green: rgb.green, blue: rgb.blue)
        }
        func fixed(_ value: Double) -> Int32 { Int32((value * 65536).rounded()) }
        let (blue, red) = (map(0, 1, 0), map(0, 0, 1))
        let luma = after.lumaScale / before.lumaScale
        let tint = after.lumaScale / before.chromaScale
        let scale = after.chromaScale / before.chromaScale
        self.luma = SIMD4(
            fixed(luma), fixed(blue.y * tint), fixed(red.y * tint),
            fixed(after.lumaOffset - before.lumaOffset * luma + 0.5))
        self.chroma = SIMD4(
            fixed(blue.u * scale), fixed(red.u * scale), fixed(blue.v * scale), fixed(red.v * scale))
        keepsMatrix = old.matrix == new.matrix
    }

    func recolorLuma(
        _ y: UnsafeMutablePointer<UInt8>, _ u: UnsafePointer<UInt8>, _ v: UnsafePointer<UInt8>, _ width: Int
    ) {
        let (scale, blue, red, offset) = (luma[0], luma[1], luma[2], luma[3])
        if keepsMatrix {
            for x in 0..<width { y[x] = code(scale &* Int32(y[x]) &+ offset) }
            return
        }
        for x in 0..<width / 2 {
            let tint = blue &* (Int32(u[x]) &- 128) &+ red &* (Int32(v[x]) &- 128) &+ offset
            y[2 &* x] = code(scale &* Int32(y[2 &* x]) &+ tint)
            y[2 &* x &+ 1] = code(scale &* Int32(y[2 &* x &+ 1]) &+ tint)
        }
        if width % 2 == 1 {
            let tint = blue &* (Int32(u[width / 2]) &- 128) &+ red &* (Int32(v[width / 2]) &- 128) &+ offset
            y[width - 1] = code(scale &* Int32(y[width - 1]) &+ tint)
        }
    }

    func recolorChroma(_ u: UnsafeMutablePointer<UInt8>, _ v: UnsafeMutablePointer<UInt8>, _ width: Int) {
        // 128 and a half, for rounding.
        let offset: Int32 = (128 << 16) + 32768
        for x in 0..<width {
            let (blue, red) = (Int32(u[x]) &- 128, Int32(v[x]) &- 128)
            u[x] = code(chroma[0] &* blue &+ chroma[1] &* red &+ offset)
            v[x] = code(chroma[2] &* blue &+ chroma[3] &* red &+ offset)
        }
    }

    @inline(__always)
    private func code(_ value: Int32) -> UInt8 { UInt8(truncatingIfNeeded: min(max(value >> 16, 0), 255)) }
}
