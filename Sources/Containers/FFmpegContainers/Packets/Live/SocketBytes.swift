import PacketCapturing
import StreamTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The bytes of a TCP connection for the library, which waits for them. Confined to the capture thread.
final class SocketBytes {
    private let socket: StreamSocket
    private let timeout: Duration
    private let stopDescriptor: Int32
    /// The first bytes, which were looked at.
    private var head: ArraySlice<UInt8> = []

    /// - Parameters:
    ///   - socket: the connection.
    ///   - timeout: how long it may be silent.
    ///   - stopDescriptor: ends waits when it can be read.
    init(_ socket: StreamSocket, timeout: Duration, stopDescriptor: Int32) {
        self.socket = socket
        self.timeout = timeout
        self.stopDescriptor = stopDescriptor
    }

    /// Waits for bytes. Returns their number; 0 at the end, and when nothing has come within the timeout, or the capture is
    /// being stopped.
    func read(into memory: UnsafeMutableRawBufferPointer) -> Int {
        if !head.isEmpty {
            let count = min(memory.count, head.count)
            memory.copyBytes(from: head.prefix(count))
            head = head.dropFirst(count)
            return count
        }
        let deadline = MonotonicClock().now.advanced(by: timeout)
        while true {
            let count = socket.receive(into: memory)
            if count != -Int(EAGAIN) { return max(0, count) }
            let found = pollInput(socket.descriptor, interruptedBy: stopDescriptor, until: deadline)
            if found.isEmpty || found.contains(.interrupted) { return 0 }
        }
    }

    /// The library's name of a raw stream of H.264 by its first bytes, for which it would look at many more; nil for others.
    func rawFormat() -> String? {
        var bytes: [UInt8] = []
        while bytes.count < 6 {
            let block = [UInt8](unsafeUninitializedCapacity: 6 - bytes.count) { memory, count in
                count = read(into: UnsafeMutableRawBufferPointer(memory))
            }
            guard !block.isEmpty else { break }
            bytes += block
        }
        head = bytes[...]
        guard bytes.count == 6, let one = bytes.firstIndex(where: { $0 != 0 }), (2...3).contains(one), bytes[one] == 1
        else { return nil }
        // A delimiter, an SEI message, a parameter set or a slice; of H.265 none begins so.
        let first = bytes[one + 1]
        return [6, 9].contains(first) || [5, 7, 8].contains(first & 0x9F) ? "h264" : nil
    }
}
