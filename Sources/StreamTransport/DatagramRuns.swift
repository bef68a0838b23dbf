import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Sends datagrams of one socket: successive ones of the same size by one system call, which the kernel cuts
/// (`UDP_SEGMENT`, udp(7)), where kernel and network device can.
///
/// For one thread at a time.
package struct DatagramRuns {
    /// Whether the kernel cuts runs itself.
    package private(set) var cutsRuns = true

    /// The maximum number of datagrams in a run (`UDP_MAX_SEGMENTS`), and of their bytes.
    private static let maximumCount = 60
    private static let maximumSize = 60_000

    package init() {}

    /// Sends datagrams without waiting; what the kernel does not take is lost.
    ///
    /// - Parameters:
    ///   - datagrams: each of at least one byte.
    ///   - descriptor: the socket.
    ///   - name: the address to send to, of `length` bytes.
    /// - Returns: how many were sent, and their bytes.
    package mutating func send(
        _ datagrams: UnsafeBufferPointer<iovec>, by descriptor: CInt, to name: UnsafePointer<sockaddr>, length: Int
    ) -> (count: Int, bytes: Int) {
        var sent = (count: 0, bytes: 0)
        var first = 0
        while first < datagrams.count {
            // All but the last one of a run have the same size.
            let size = datagrams[first].iov_len
            var (end, bytes) = (first + 1, size)
            while cutsRuns, end < datagrams.count, end - first < DatagramRuns.maximumCount {
                let next = datagrams[end].iov_len
                guard datagrams[end - 1].iov_len == size, next <= size, bytes + next <= DatagramRuns.maximumSize else {
                    break
                }
                bytes += next
                end += 1
            }
            let run = UnsafeBufferPointer(rebasing: datagrams[first..<end])
            if DatagramRuns.send(run, size: size, by: descriptor, to: name, length: length) {
                sent.count += run.count
                sent.bytes += bytes
            } else if run.count > 1, [EINVAL, EIO, ENOPROTOOPT, EOPNOTSUPP, EMSGSIZE].contains(errno) {
                // A kernel or a network device that cannot: one by one from now on.
                cutsRuns = false
                continue
            }
            first = end
        }
        return sent
    }

    private static func send(
        _ run: UnsafeBufferPointer<iovec>, size: Int, by descriptor: CInt, to name: UnsafePointer<sockaddr>, length: Int
    ) -> Bool {
        // A `cmsghdr` with 16 bits of data: 18 bytes, which take 24.
        withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { control in
            var message = msghdr()
            message.msg_name = UnsafeMutableRawPointer(mutating: UnsafeRawPointer(name))
            message.msg_namelen = socklen_t(length)
            message.msg_iov = UnsafeMutablePointer(mutating: run.baseAddress)
            message.msg_iovlen = numericCast(run.count)
            if run.count > 1 {
                control.initializeMemory(as: UInt8.self, repeating: 0)
                control.storeBytes(of: 18, as: Int.self)
                control.storeBytes(of: CInt(IPPROTO_UDP), toByteOffset: 8, as: CInt.self)
                control.storeBytes(of: 103, toByteOffset: 12, as: CInt.self)  // UDP_SEGMENT
                control.storeBytes(of: UInt16(size), toByteOffset: 16, as: UInt16.self)
                message.msg_control = control.baseAddress
                message.msg_controllen = numericCast(control.count)
            }
            return sendmsg(descriptor, &message, CInt(MSG_DONTWAIT)) >= 0
        }
    }
}
