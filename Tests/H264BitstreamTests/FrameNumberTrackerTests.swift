import Testing

@testable import H264Bitstream

@Suite struct FrameNumberTrackerTests {
    /// What a slice says besides its number.
    private struct Slice {
        var isIDR = false
        var isReference = true
        /// 5 P, 7 I, of all slices of the picture.
        var type: UInt32 = 5
        /// Nil for a frame; whether it is the bottom field.
        var field: Bool?
        /// The operations of dec_ref_pic_marking, each with its numbers.
        var marking: [[UInt32]] = []
        /// Of a recovery point before it.
        var recovery: UInt32?
        /// In output.
        var order: UInt32?
    }

    private let code: [UInt8] = [0, 0, 0, 1]

    /// Parameter sets with numbers of four bits, and an order that needs no fields.
    private func parameterSets(framesOnly: Bool = true, orderType: UInt32 = 2) -> [UInt8] {
        var sequence = BitWriter()
        sequence.write(77, bits: 8)
        sequence.write(0, bits: 8)
        sequence.write(30, bits: 8)
        // Orders have four bits.
        for value: UInt32 in [0, 0, orderType] + (orderType == 0 ? [0] : []) + [4] { sequence.writeUnsigned(value) }
        sequence.write(false)
        sequence.writeUnsigned(19)
        sequence.writeUnsigned(framesOnly ? 14 : 7)
        sequence.write(framesOnly)
        if !framesOnly { sequence.write(false) }
        sequence.write(true)
        sequence.write(false)
        sequence.write(false)
        var picture = BitWriter()
        for _ in 0..<2 { picture.writeUnsigned(0) }
        picture.write(false)
        picture.write(false)
        for _ in 0..<3 { picture.writeUnsigned(0) }
        // Weighted prediction of P slices.
        picture.write(true)
        picture.write(0, bits: 2)
        for _ in 0..<3 { picture.writeSigned(0) }
        for _ in 0..<3 { picture.write(false) }
        return code + sequence.nalUnit(header: 0x67) + code + picture.nalUnit(header: 0x68)
    }

    private func unit(_ number: Int, _ slice: Slice = Slice(), framesOnly: Bool = true) -> [UInt8] {
        var writer = BitWriter()
        writer.writeUnsigned(0)
        writer.writeUnsigned(slice.isIDR ? 7 : slice.type)
        writer.writeUnsigned(0)
        writer.write(UInt32(number), bits: 4)
        if !framesOnly {
            writer.write(slice.field != nil)
            if let isBottom = slice.field { writer.write(isBottom) }
        }
        if slice.isIDR { writer.writeUnsigned(0) }
        if let order = slice.order { writer.write(order, bits: 4) }
        if !slice.isIDR, slice.isReference {
            if slice.type == 5 {
                // Two references; the list is modified; both have weights.
                writer.write(true)
                writer.writeUnsigned(1)
                writer.write(true)
                for value: UInt32 in [0, 3, 1, 0, 3] { writer.writeUnsigned(value) }
                for _ in 0..<2 { writer.writeUnsigned(5) }
                for _ in 0..<2 {
                    writer.write(true)
                    for value: Int32 in [7, -3] { writer.writeSigned(value) }
                    writer.write(true)
                    for value: Int32 in [1, 2, -3, 4] { writer.writeSigned(value) }
                }
            }
            writer.write(!slice.marking.isEmpty)
            if !slice.marking.isEmpty {
                for value in slice.marking.joined() { writer.writeUnsigned(value) }
                writer.writeUnsigned(0)
            }
        }
        writer.write(0xABCD, bits: 16)
        let bytes = writer.nalUnit(header: (slice.isReference ? 0x60 : 0) | (slice.isIDR ? 5 : 1))
        var message: [UInt8] = []
        if let recovery = slice.recovery {
            var payload = BitWriter()
            payload.writeUnsigned(recovery)
            payload.write(0, bits: 4)
            let content = payload.nalUnit(header: 0).dropFirst()
            // A message of another kind comes first.
            message = code + [6, 5, 2, 1, 2, 6, UInt8(content.count)] + content + [0x80]
        }
        let sets = parameterSets(framesOnly: framesOnly, orderType: slice.order == nil ? 2 : 0)
        return (slice.isIDR ? sets : []) + message + code + bytes
    }

    private func add(_ unit: [UInt8], to tracker: inout FrameNumberTracker) -> FrameNumberTracker.Picture? {
        unit.withUnsafeBytes { tracker.add($0) }
    }

    private let idr = Slice(isIDR: true)

    @Test func lossIsCountedAcrossTheWrap() {
        var tracker = FrameNumberTracker()
        #expect(add(unit(3), to: &tracker) == nil)
        #expect(add(unit(0, idr), to: &tracker) == .init(isIDR: true, isEntry: true))
        for number in 1...40 {
            #expect(add(unit(number % 16), to: &tracker) == .init())
        }
        #expect(add(unit(43 % 16), to: &tracker)?.lostFrames == 2)
        #expect(add(unit(44 % 16), to: &tracker)?.lostFrames == 0)
        #expect(add(unit(0, idr), to: &tracker)?.lostFrames == 0)
        #expect(add(unit(2), to: &tracker)?.lostFrames == 1)
    }

    @Test func framesWithoutReferencesShareTheNumberOfTheNext() {
        var tracker = FrameNumberTracker()
        _ = add(unit(0, idr), to: &tracker)
        for (number, isReference) in [(1, false), (1, false), (1, true), (2, false), (2, true), (3, true)] {
            #expect(add(unit(number, Slice(isReference: isReference)), to: &tracker)?.lostFrames == 0)
        }
        #expect(add(unit(5, Slice(isReference: false)), to: &tracker)?.lostFrames == 1)
        #expect(add(unit(5), to: &tracker)?.lostFrames == 0)
    }

    /// After memory_management_control_operation 5 the numbers go on from 0 (7.4.3).
    @Test(arguments: [[[5]], [[1, 2], [2, 0], [3, 1, 0], [4, 2], [6, 1], [5]]] as [[[UInt32]]])
    func numbersMayBeginAgain(_ marking: [[UInt32]]) {
        var tracker = FrameNumberTracker()
        _ = add(unit(0, idr), to: &tracker)
        for number in 1...9 { _ = add(unit(number), to: &tracker) }
        #expect(add(unit(10, Slice(marking: marking)), to: &tracker)?.lostFrames == 0)
        #expect(add(unit(1), to: &tracker)?.lostFrames == 0)
        // Others change no number.
        #expect(add(unit(2, Slice(marking: [[1, 5], [4, 5]])), to: &tracker)?.lostFrames == 0)
        #expect(add(unit(3), to: &tracker)?.lostFrames == 0)
        #expect(add(unit(5), to: &tracker)?.lostFrames == 1)
    }

    @Test func fieldsOfOneFrame() {
        var tracker = FrameNumberTracker()
        _ = add(unit(0, Slice(isIDR: true, field: false), framesOnly: false), to: &tracker)
        for (number, isBottom, isSecond) in [(0, true, true), (1, false, false), (1, true, true), (2, true, false)] {
            let picture = add(unit(number, Slice(field: isBottom), framesOnly: false), to: &tracker)
            #expect(picture == .init(isSecondField: isSecond))
        }
        // One whose first field is missing.
        #expect(add(unit(3, Slice(field: true), framesOnly: false), to: &tracker)?.isSecondField == false)
        #expect(add(unit(4, framesOnly: false), to: &tracker) == .init())
    }

    @Test func decodingMayBeginAtARecoveryPoint() {
        var tracker = FrameNumberTracker()
        _ = add(parameterSets(), to: &tracker)
        #expect(add(unit(3), to: &tracker) == .init())
        #expect(add(unit(7), to: &tracker) == .init(), "Nothing counts as lost before the first entry.")
        #expect(add(unit(8, Slice(recovery: 12)), to: &tracker) == .init(isEntry: true, recoveryFrames: 12))
        #expect(add(unit(10), to: &tracker)?.lostFrames == 1)
        // The stream states where it can be entered.
        #expect(add(unit(11, Slice(type: 7)), to: &tracker) == .init())
    }

    @Test func decodingMayBeginAtAnIntraPicture() {
        var tracker = FrameNumberTracker()
        _ = add(parameterSets(), to: &tracker)
        // A second slice refers to other pictures.
        #expect(add(unit(3, Slice(type: 7)) + unit(3), to: &tracker)?.isEntry == false)
        #expect(add(unit(4, Slice(type: 7)) + unit(4, Slice(type: 7)), to: &tracker) == .init(isEntry: true))
        #expect(add(unit(6), to: &tracker)?.lostFrames == 1)
        // Where there are IDR pictures, one after it may refer to what was before it.
        _ = add(unit(0, idr), to: &tracker)
        #expect(add(unit(1, Slice(type: 7)), to: &tracker) == .init())
    }

    /// Frames that come late in the stream are expected by the gap that they leave, across the wrap of the order.
    @Test func gapsInTheOrderAreForReordering() {
        var tracker = FrameNumberTracker()
        _ = add(unit(0, Slice(isIDR: true, order: 0)), to: &tracker)
        let orders: [(UInt32, Int)] = [
            (2, 0), (4, 0), (8, 1), (6, 0), (14, 2), (12, 0), (10, 0), (0, 0), (6, 2), (8, 0),
        ]
        for (index, (order, expected)) in orders.enumerated() {
            #expect(
                add(unit((index + 1) % 16, Slice(order: order)), to: &tracker)?.reorderedFrames == expected, "\(order)")
        }
        // What is lost is not awaited.
        #expect(add(unit(13, Slice(order: 12)), to: &tracker) == .init(lostFrames: 2))
    }
}
