/// A driver's buffer in this process's memory, until the last picture in it is let go; so a frame stays readable
/// after its camera has been closed or unplugged.
///
/// `@unchecked Sendable`: the address never changes, and whoever lets go last unmaps.
final class BufferMapping: @unchecked Sendable {
    let address: UnsafeMutableRawPointer
    let byteCount: Int
    private let calls: any DeviceCalls

    /// Throws what `mmap` answered.
    init(_ node: DeviceNode, byteCount: Int, offset: UInt32) throws(IoctlFailure) {
        let (address, error) = node.calls.map(node.descriptor, byteCount: byteCount, offset: offset)
        guard let address else { throw IoctlFailure(request: "mmap", number: error) }
        self.address = address
        self.byteCount = byteCount
        calls = node.calls
    }

    deinit { calls.unmap(address, byteCount: byteCount) }
}
