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

    /// What became of datagrams.
    package struct Sent {
        /// How many were sent, and their bytes.
        package var count = 0
        package var bytes = 0
        /// The error of a datagram that was not sent, and its bytes; nil where all were sent. `EAGAIN`, for a full buffer, only
        /// where there was no other error.
        package var failure: (code: CInt, bytes: Int)?
        /// Whether nothing had listened at the peer, as a connected socket reports of earlier datagrams.
        package var isRefused = false
    }

    package init() {}

    /// Sends datagrams without waiting; what the kernel does not take is lost.
    ///
    /// - Parameters:
    ///   - datagrams: each of at least one byte.
    ///   - descriptor: the socket.
    ///   - name: the address to send to, of `length` bytes; nil for a connected socket.
    package mutating func send(
        _ datagrams: UnsafeBufferPointer<iovec>, by descriptor: CInt, to name: UnsafePointer<sockaddr>?, length: Int
    ) -> Sent {
        var sent = Sent()
        var first = 0
        // The run that has met what became of an earlier one.
        var refused = -1
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
            } else if errno == ECONNREFUSED, refused < first {
                // Nothing of this run was sent yet.
                sent.isRefused = true
                refused = first
                continue
            } else if run.count > 1, [EINVAL, EIO, ENOPROTOOPT, EOPNOTSUPP, EMSGSIZE].contains(errno) {
                // A kernel or a network device that cannot: one by one from now on.
                cutsRuns = false
                continue
            } else if sent.failure == nil || sent.failure?.code == EAGAIN {
                sent.failure = (errno, size)
            }
            first = end
        }
        return sent
    }

    private static func send(
        _ run: UnsafeBufferPointer<iovec>, size: Int, by descriptor: CInt, to name: UnsafePointer<sockaddr>?,
        length: Int
    ) -> Bool {
        // A `cmsghdr` with 16 bits of data: 18 bytes, which take 24.
        withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { control in
            var message = msghdr()
            message.msg_name = name.map { UnsafeMutableRawPointer(mutating: UnsafeRawPointer($0)) }
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
            while true {
                if sendmsg(descriptor, &message, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)) >= 0 { return true }
                if errno != EINTR { return false }
            }
        }
    }
}
