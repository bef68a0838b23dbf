import Glibc
import VideoCapturing

@testable import FrameProcessing

/// Memory between two pages that nobody may touch: one byte too far ends the test run.
final class GuardedMemory {
    enum Placement: CaseIterable {
        /// The first byte follows the forbidden page in front.
        case atStart
        /// The forbidden page behind follows the last byte.
        case atEnd
    }

    let bytes: UnsafeMutableRawBufferPointer
    private let mapping: UnsafeMutableRawPointer
    private let length: Int

    init(_ byteCount: Int, _ placement: Placement) {
        let page = sysconf(Int32(_SC_PAGESIZE))
        let room = (byteCount + page - 1) / page * page
        length = room + 2 * page
        mapping = mmap(nil, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
        precondition(mapping != MAP_FAILED)
        precondition(mprotect(mapping + page, room, PROT_READ | PROT_WRITE) == 0)
        let start = mapping + page + (placement == .atEnd ? room - byteCount : 0)
        bytes = UnsafeMutableRawBufferPointer(start: start, count: byteCount)
    }

    deinit { munmap(mapping, length) }
}

/// A picture whose planes lie in guarded memory, without padding or with rows of whole multiples of `alignment` bytes.
struct GuardedPicture {
    let memory: [GuardedMemory]
    let picture: MutablePicture

    init(
        _ format: PixelFormat, _ width: Int, _ height: Int, _ placement: GuardedMemory.Placement, alignment: Int = 1
    ) {
        var planes = PlaneList<PicturePlane>()
        var memory: [GuardedMemory] = []
        for plane in 0..<format.planeCount {
            let stride = (format.rowBytes(ofPlane: plane, width: width) + alignment - 1) / alignment * alignment
            let guarded = GuardedMemory(stride * format.rows(ofPlane: plane, height: height), placement)
            for index in guarded.bytes.indices { guarded.bytes[index] = UInt8(truncatingIfNeeded: index &* 37) }
            planes.append(
                PicturePlane(
                    base: UnsafePointer(guarded.bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)),
                    stride: Int32(stride)))
            memory.append(guarded)
        }
        self.memory = memory
        picture = MutablePicture(
            picture: Picture(pixelFormat: format, width: width, height: height, planes: planes))
    }
}
