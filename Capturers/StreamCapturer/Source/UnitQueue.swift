import H264Bitstream
import VideoCapturing

/// The access units of a block of a raw stream that are not decoded yet.
///
/// They are decoded one by one, since a picture may have 13 bytes and, decoded, 50 megabytes.
struct UnitQueue {
    struct Unit {
        fileprivate var bytes: Range<Int>
        var hasSlices: Bool
        var isKeyFrame: Bool
        var arrival: MediaTime
    }

    private var bytes: [UInt8] = []
    private var units: [Unit] = []
    private var next = 0

    mutating func append(_ unit: AccessUnitParser.Unit, arrival: MediaTime) {
        let start = bytes.count
        bytes.append(contentsOf: unit.bytes)
        units.append(
            Unit(
                bytes: start..<bytes.count, hasSlices: unit.hasSlices, isKeyFrame: unit.isKeyFrame, arrival: arrival))
    }

    /// Takes the first unit; nil when there is none.
    mutating func take() -> (unit: Unit, bytes: ArraySlice<UInt8>)? {
        guard next < units.count else {
            if next > 0 {
                // A large picture's memory is not kept.
                bytes.removeAll(keepingCapacity: bytes.count <= 1 << 20)
                units.removeAll(keepingCapacity: true)
                next = 0
            }
            return nil
        }
        defer { next += 1 }
        return (units[next], bytes[units[next].bytes])
    }
}
