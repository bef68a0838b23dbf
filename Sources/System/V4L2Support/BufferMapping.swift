/// A driver's buffer mapped into this process, until the last frame in it is released.
///
/// `@unchecked Sendable`: the address never changes, and the last reference unmaps.
package final class BufferMapping: @unchecked Sendable {
    /// The first byte.
    package let address: UnsafeMutableRawPointer
    /// The number of bytes.
    package let byteCount: Int
    private let calls: any DeviceCalls

    /// Maps a buffer of a node.
    ///
    /// - Parameters:
    ///   - node: the open node.
    ///   - byteCount: the size of the buffer.
    ///   - offset: the buffer's place, by `VIDIOC_QUERYBUF`.
    ///   - isWritable: whether this process writes into it.
    /// - Throws: the failure of `mmap`.
    package init(_ node: DeviceNode, byteCount: Int, offset: UInt32, isWritable: Bool = false) throws(IoctlFailure) {
        let (address, error) = node.calls.map(
            node.descriptor, byteCount: byteCount, offset: offset, isWritable: isWritable)
        guard let address else { throw IoctlFailure(request: "mmap", number: error) }
        self.address = address
        self.byteCount = byteCount
        calls = node.calls
    }

    /// Releases the device, but keeps the content for the frames that are in it.
    ///
    /// A mapping keeps a driver's memory, and after an unplug the camera's number, as long as it lasts; a frame may be
    /// kept for hours. Only for buffers that the driver no longer writes to.
    package func detach() { calls.detach(address, byteCount: byteCount) }

    deinit { calls.unmap(address, byteCount: byteCount) }
}
