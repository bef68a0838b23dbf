import Testing
import VideoCapturing

@testable import FrameProcessing

@Suite struct EvolvingPictureTests {
    /// The numbers that a picture should hold, painted by the same rule as the picture: a value for each part.
    private struct Model {
        var values: [UInt8]
        let width: Int

        mutating func paint(_ part: PixelRect, _ value: UInt8) {
            for row in part.y..<part.y + part.height {
                for column in part.x..<part.x + part.width { values[row * width + column] = value }
            }
        }
    }

    /// Writes `value` into the samples of a part, chroma too.
    private static func paint(_ part: PixelRect, _ value: UInt8, into target: borrowing PixelWriter) {
        let isRGB = target.pixelFormat.isRGB
        for plane in 0..<target.planes.count {
            let isChroma = plane > 0
            let bytesPerSample = isRGB ? 4 : plane > 0 && target.planes.count == 2 ? 2 : 1
            let scale = isChroma ? 2 : 1
            for row in part.y / scale..<(part.y + part.height + scale - 1) / scale {
                target.withRow(row, ofPlane: plane) { bytes in
                    let columns = part.x / scale..<(part.x + part.width + scale - 1) / scale
                    for index in columns.lowerBound * bytesPerSample..<columns.upperBound * bytesPerSample {
                        bytes[index] = value
                    }
                }
            }
        }
    }

    /// Whether each sample has the value of its pixel, or of the pixel at its top left.
    private static func matches(_ buffer: PixelBuffer, _ model: Model) -> Bool {
        for plane in 0..<buffer.planes.count {
            let bytesPerSample = buffer.pixelFormat.isRGB ? 4 : plane > 0 && buffer.planes.count == 2 ? 2 : 1
            let scale = plane > 0 ? 2 : 1
            for row in 0..<buffer.planes[plane].rows {
                let isRight = buffer.withRow(row, ofPlane: plane) { bytes in
                    bytes.indices.allSatisfy { index in
                        bytes[index] == model.values[row * scale * model.width + index / bytesPerSample * scale]
                    }
                }
                if !isRight { return false }
            }
        }
        return true
    }

    /// An even part of the picture, which may end at its odd edge.
    private static func part(_ width: Int, _ height: Int, _ random: inout some RandomNumberGenerator) -> PixelRect {
        func span(_ length: Int) -> (start: Int, length: Int) {
            let start = Int.random(in: 0..<(length + 1) / 2, using: &random) * 2
            let rest = length - start
            let end = min(rest, Int.random(in: 1...(rest + 1) / 2, using: &random) * 2)
            return (start, end)
        }
        let (x, w) = span(width)
        let (y, h) = span(height)
        return PixelRect(x: x, y: y, width: w, height: h)
    }

    @Test(arguments: [PixelFormat.nv12, .i420, .argb], [(16, 12), (17, 13), (1, 1), (2, 9)])
    func showsEachStateAndKeepsTheOldOnes(format: PixelFormat, size: (width: Int, height: Int)) throws {
        var random = SystemRandomNumberGenerator()
        var picture = EvolvingPicture(
            VideoFormat(format, width: size.width, height: size.height), capacity: 3)
        var model = Model(values: Array(repeating: 0, count: size.width * size.height), width: size.width)
        var held: [(buffer: PixelBuffer, model: Model)] = []
        for step in 0..<200 {
            let isWhole = step == 0 || step % 41 == 0
            let parts =
                isWhole
                ? [PixelRect(x: 0, y: 0, width: size.width, height: size.height)]
                : (0..<Int.random(in: 0...3, using: &random)).map { _ in Self.part(size.width, size.height, &random) }
            let value = UInt8.random(in: 0...255, using: &random)
            for part in parts { model.paint(part, value) }
            let buffer = try picture.update(isWhole ? nil : parts) { target in
                for part in parts { Self.paint(part, value, into: target) }
            }
            #expect(Self.matches(buffer, model), "step \(step)")
            held.append((buffer, model))
            // Consumers keep none, some, or more than there are buffers.
            let kept = step % 60 < 20 ? 0 : step % 60 < 40 ? 2 : 6
            while held.count > kept { held.removeFirst() }
            for (index, old) in held.enumerated() {
                #expect(Self.matches(old.buffer, old.model), "step \(step), held \(index)")
            }
        }
    }

    @Test func paintsOnTheNewestWhenNobodyHoldsIt() throws {
        var picture = EvolvingPicture(.nv12(width: 16, height: 16))
        let first = ObjectIdentifier(try picture.update(nil) { $0.fill(plane: 0, with: 1) })
        let part = PixelRect(x: 0, y: 0, width: 2, height: 2)
        let second = ObjectIdentifier(try picture.update([part]) { Self.paint(part, 2, into: $0) })
        #expect(first == second)
    }

    @Test func needsAWholePictureFirstAndAfterAFailure() throws {
        struct Unused: Error {}
        var picture = EvolvingPicture(.nv12(width: 16, height: 16))
        let part = PixelRect(x: 0, y: 0, width: 2, height: 2)
        #expect(picture.isEmpty)
        #expect(throws: CaptureError.self) { try picture.update([part]) { _ in } }
        _ = try picture.update(nil) { $0.fill(plane: 0, with: 1) }
        #expect(!picture.isEmpty)
        #expect(throws: CaptureError.self) {
            try picture.update([part]) { _ throws(CaptureError) in
                throw CaptureError(.system, operation: "paint", message: "It went wrong.")
            }
        }
        #expect(picture.isEmpty)
    }

    @Test(arguments: [
        PixelRect(x: 1, y: 0, width: 2, height: 2), PixelRect(x: 0, y: 1, width: 2, height: 2),
        PixelRect(x: 0, y: 0, width: 3, height: 2), PixelRect(x: 0, y: 0, width: 18, height: 2),
        PixelRect(x: -2, y: 0, width: 2, height: 2), PixelRect(x: 0, y: 0, width: 0, height: 2),
        PixelRect(x: .max - 1, y: 0, width: 2, height: 2),
    ])
    func refusesPartsThatTheFormatCannotHave(part: PixelRect) throws {
        var picture = EvolvingPicture(.nv12(width: 16, height: 16))
        _ = try picture.update(nil) { $0.fill(plane: 0, with: 1) }
        #expect(throws: CaptureError.self) { try picture.update([part]) { _ in } }
        #expect(!picture.isEmpty, "a mistake of the caller's spoils nothing")
    }
}

@Suite struct PartConversionTests {
    /// Part by part is the same as whole.
    @Test(arguments: [PixelFormat.nv12, .i420, .argb], [(20, 14), (21, 15)])
    func givesTheSameInPartsAsWhole(format: PixelFormat, size: (width: Int, height: Int)) throws {
        let (width, height) = size
        var random = SystemRandomNumberGenerator()
        let pixels = (0..<width * height * 4).map { _ in UInt8.random(in: 0...255, using: &random) }
        let processor = FrameProcessor()
        let pool = PixelBufferPool()
        func convert(_ parts: [PixelRect]) throws -> PixelBuffer {
            try pool.makeBuffer(format, width: width, height: height) { target in
                try pixels.withUnsafeBytes { bytes in
                    for part in parts {
                        let offset = (part.y * width + part.x) * 4
                        try processor.convert(
                            PixelBuffer.PlaneMemory(
                                base: bytes.baseAddress! + offset, byteCount: bytes.count - offset,
                                bytesPerRow: width * 4),
                            .bgra, color: .jpeg, into: part, of: target, color: .assumed(for: format))
                    }
                }
            }
        }
        let whole = try convert([PixelRect(x: 0, y: 0, width: width, height: height)])
        let parts = try convert([
            PixelRect(x: 0, y: 0, width: 6, height: height), PixelRect(x: 6, y: 0, width: width - 6, height: 4),
            PixelRect(x: 6, y: 4, width: width - 6, height: height - 4),
        ])
        for plane in 0..<whole.planes.count {
            for row in 0..<whole.planes[plane].rows {
                let expected = whole.withRow(row, ofPlane: plane) { Array($0) }
                #expect(parts.withRow(row, ofPlane: plane) { Array($0) } == expected, "plane \(plane), row \(row)")
            }
        }
    }

    @Test func refusesPixelsThatAreNotThere() throws {
        let bytes = [UInt8](repeating: 0, count: 4 * 4 * 4)
        let processor = FrameProcessor()
        let part = PixelRect(x: 0, y: 0, width: 4, height: 4)
        #expect(throws: CaptureError.self) {
            try PixelBufferPool().makeBuffer(.nv12, width: 8, height: 8) { target in
                try bytes.withUnsafeBytes { bytes in
                    try processor.convert(
                        PixelBuffer.PlaneMemory(base: bytes.baseAddress!, byteCount: bytes.count - 1, bytesPerRow: 16),
                        .bgra,
                        color: .jpeg, into: part, of: target, color: .bt601)
                }
            }
        }
    }
}
