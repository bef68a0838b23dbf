import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The way to the kernel past the channel's own queue of writes, which costs a viewer a seventh of what a frame costs him,
/// and is empty nearly always when a frame comes.
///
/// On the connection's event loop only, and only while the channel is active and has nothing to write: the channel closes
/// the descriptor, and must not be overtaken. A ``duplicate()`` is for other threads, which a descriptor that the channel has
/// closed, and that is another connection's by now, must not happen to.
struct DirectSocket {
    private let descriptor: NIOBSDSocket.Handle

    /// Nil for a connection that is no socket.
    init?(_ context: ChannelHandlerContext) {
        let handle = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable {
            (handle: NIOBSDSocket.Handle) in handle
        }
        guard let handle else { return nil }
        descriptor = handle
    }

    private init(descriptor: NIOBSDSocket.Handle) { self.descriptor = descriptor }

    /// The same connection under a descriptor of its own, which ``close()`` frees; nil when there is none left.
    func duplicate() -> DirectSocket? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        return copy < 0 ? nil : DirectSocket(descriptor: copy)
    }

    /// Ends a ``duplicate()``. The connection ends with the last descriptor.
    func close() { closeDescriptor(descriptor) }

    /// Hands over as much as the kernel takes without waiting.
    ///
    /// - Returns: how many bytes that were; 0 when the connection is broken, too, which the channel finds out when it is
    ///   given the rest.
    func send(_ bytes: ByteBuffer) -> Int {
        bytes.withUnsafeReadableBytes { bytes in
            max(0, sendBytes(descriptor, bytes))
        }
    }
}

/// Outside, where `close` and `send` are the system's.
private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
}
