@testable import H264Bitstream

/// What a sender may send that wants to take memory or time.
enum HostileStream: String, CaseIterable, Sendable {
    case noise, zeros, startCodes, emptyUnits, endlessUnit
    /// 16384x16384 and 8192x4320, with 16 pictures to refer to.
    case hugePictures, largePictures
    /// Pictures of ten bytes each, which are as large as the one before when they are decoded.
    case skippedPictures
    /// The same, in an order that makes the decoder hold them back.
    case heldPictures
    /// Another size with each picture.
    case sizes
    case damagedParameterSets
    /// The longest list in a parameter set.
    case orderCycle
    case longLength, matroska, transportStream, flash

    /// A part of the stream.
    func piece(_ index: Int) -> [UInt8] {
        var numbers = Numbers(state: UInt64(index + 1) &* 0x9E37_79B9_7F4A_7C15)
        let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xF0]
        switch self {
        case .noise: return numbers.bytes(65_536)
        case .zeros: return [UInt8](repeating: 0, count: 65_536)
        case .startCodes: return (0..<20_000).flatMap { _ in [0, 0, 1] as [UInt8] }
        case .emptyUnits: return (0..<5000).flatMap { _ in [0, 0, 1, 0x67, 0, 0, 1, 0x68, 0, 0, 1, 0x65] as [UInt8] }
        case .endlessUnit:
            let start = index > 0 ? [] : Picture(20, 15).parameterSets + [0, 0, 0, 1, 0x65]
            return start + numbers.bytes(65_536).map { $0 | 1 }
        case .hugePictures:
            let picture = Picture(1024, 1024, references: 16)
            return delimiter + picture.parameterSets + picture.broken(index, &numbers)
        case .largePictures:
            let picture = Picture(512, 270, references: 16)
            return delimiter + picture.parameterSets + picture.broken(index, &numbers)
        case .skippedPictures, .heldPictures:
            let picture = Picture(120, 68, references: 4, isOrdered: self == .heldPictures)
            guard index > 0 else { return picture.parameterSets + picture.black }
            return (0..<1000).flatMap { picture.repeated((index - 1) * 1000 + $0 + 1) }
        case .sizes:
            let picture = Picture(4 + index % 250, 4 + index * 7 % 200)
            return delimiter + picture.parameterSets + picture.broken(index, &numbers)
        case .damagedParameterSets:
            let picture = Picture(20, 15)
            return delimiter + [0, 0, 0, 1, 0x67] + numbers.bytes(40) + picture.parameterSets
                + picture.broken(index, &numbers)
        case .orderCycle:
            let picture = Picture(20, 15, hasOrderCycle: true)
            return delimiter + picture.parameterSets + picture.broken(index, &numbers)
        case .longLength: return (index > 0 ? [] : [0x7F, 0xFF, 0xFF, 0xFF, 0x67]) + numbers.bytes(4096)
        case .matroska:
            let head: [UInt8] = [0x1A, 0x45, 0xDF, 0xA3, 1] + [UInt8](repeating: 0xFF, count: 7)
            return (index > 0 ? [] : head) + numbers.bytes(65_536)
        case .transportStream: return (0..<350).flatMap { _ in [0x47] + numbers.bytes(187) }
        case .flash:
            let head: [UInt8] = [0x46, 0x4C, 0x56, 1, 5, 0, 0, 0, 9, 0, 0, 0, 0]
            return (index > 0 ? [] : head) + [9, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + numbers.bytes(3000)
        }
    }
}

private struct Numbers {
    var state: UInt64

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
    }
}

/// Pictures of Main profile without CABAC, written by hand.
private struct Picture {
    private let width: Int
    private let height: Int
    let parameterSets: [UInt8]
    private let isOrdered: Bool
    private static let code: [UInt8] = [0, 0, 0, 1]

    /// Sizes in macroblocks.
    init(_ width: Int, _ height: Int, references: UInt32 = 1, isOrdered: Bool = false, hasOrderCycle: Bool = false) {
        (self.width, self.height, self.isOrdered) = (width, height, isOrdered)
        var sequence = BitWriter()
        for value: UInt32 in [77, 0, 52] { sequence.write(value, bits: 8) }
        sequence.writeUnsigned(0)
        sequence.writeUnsigned(0)
        sequence.writeUnsigned(isOrdered ? 0 : hasOrderCycle ? 1 : 2)
        if isOrdered { sequence.writeUnsigned(12) }
        if hasOrderCycle {
            sequence.write(false)
            for _ in 0..<2 { sequence.writeSigned(0) }
            sequence.writeUnsigned(255)
            for _ in 0..<255 { sequence.writeSigned(1) }
        }
        sequence.writeUnsigned(references)
        sequence.write(false)
        sequence.writeUnsigned(UInt32(width - 1))
        sequence.writeUnsigned(UInt32(height - 1))
        for bit in [true, true, false, false] { sequence.write(bit) }
        var picture = BitWriter()
        for _ in 0..<2 { picture.writeUnsigned(0) }
        for _ in 0..<2 { picture.write(false) }
        for _ in 0..<3 { picture.writeUnsigned(0) }
        picture.write(0, bits: 3)
        for _ in 0..<3 { picture.writeSigned(0) }
        for bit in [true, false, false] { picture.write(bit) }
        parameterSets = Picture.code + sequence.nalUnit(header: 0x67) + Picture.code + picture.nalUnit(header: 0x68)
    }

    private func header(_ number: Int, isKeyFrame: Bool, order: Int = 0) -> BitWriter {
        var slice = BitWriter()
        slice.writeUnsigned(0)
        slice.writeUnsigned(isKeyFrame ? 7 : 5)
        slice.writeUnsigned(0)
        slice.write(UInt32(isKeyFrame ? 0 : number % 16), bits: 4)
        if isKeyFrame { slice.writeUnsigned(UInt32(number % 256)) }
        if isOrdered { slice.write(UInt32(order & 0xFFFF), bits: 16) }
        if !isKeyFrame { for _ in 0..<2 { slice.write(false) } }
        slice.write(false)
        if isKeyFrame { slice.write(false) }
        slice.writeSigned(0)
        slice.writeUnsigned(1)
        return slice
    }

    /// A key frame without a coefficient.
    var black: [UInt8] {
        var slice = header(0, isKeyFrame: true)
        for _ in 0..<width * height { slice.write(0x27, bits: 8) }
        return Picture.code + slice.nalUnit(header: 0x65)
    }

    /// The picture before once more.
    func repeated(_ number: Int) -> [UInt8] {
        // In groups of 16 the first comes last.
        let order = number % 16 == 1 ? number + 15 : number - 1
        var slice = header(number, isKeyFrame: false, order: order * 2)
        slice.writeUnsigned(UInt32(width * height))
        return Picture.code + slice.nalUnit(header: 0x61)
    }

    /// A key frame's header, and noise.
    func broken(_ number: Int, _ numbers: inout Numbers) -> [UInt8] {
        Picture.code + header(number, isKeyFrame: true).nalUnit(header: 0x65) + numbers.bytes(60).map { $0 | 1 }
    }
}
