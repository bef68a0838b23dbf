/// A driver's buffer in this process's memory, until the last picture in it is let go.
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

    /// Lets go of the device, but not of the pictures: whoever reads them goes on to find what he has found.
    ///
    /// A mapping keeps a driver's memory, and after an unplug the camera's number, for as long as it lasts; a frame may be
    /// kept for hours. Only for buffers that the driver does not write to any more.
    func detach() { calls.detach(address, byteCount: byteCount) }

    deinit { calls.unmap(address, byteCount: byteCount) }
}
