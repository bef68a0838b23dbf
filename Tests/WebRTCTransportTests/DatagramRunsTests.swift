import Testing

@testable import StreamTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Every datagram arrives unchanged and in order, however the kernel was asked to send it.
struct DatagramRunsTests {
    /// A socket on loopback.
    private final class Endpoint {
        let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
        private(set) var name = sockaddr_in()

        init() {
            var size: CInt = 1 << 22
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
            setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, 4)
            name.sin_family = sa_family_t(AF_INET)
            name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withName { #expect(bind(descriptor, $0, length) == 0) }
            withUnsafeMutablePointer(to: &name) { name in
                name.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
            }
        }

        deinit { close(descriptor) }

        func withName<Result>(_ body: (UnsafePointer<sockaddr>) throws -> Result) rethrows -> Result {
            try withUnsafePointer(to: name) { try $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
        }

        func receive() -> [UInt8]? {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 5000) == 1 else { return nil }
            return [UInt8](unsafeUninitializedCapacity: 70_000) { buffer, count in
                count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
            }
        }
    }

    @Test(arguments: [false, true]) func datagramsArriveAsTheyWere(_ withoutCutting: Bool) {
        let (sender, receiver) = (Endpoint(), Endpoint())
        // Without checksums the kernel refuses to cut.
        var flag: CInt = withoutCutting ? 1 : 0
        setsockopt(sender.descriptor, SOL_SOCKET, CInt(SO_NO_CHECK), &flag, 4)
        var random = SystemRandomNumberGenerator()
        var runs = DatagramRuns()
        for round in 0..<40 {
            // Equal ones with a shorter last one, as frames are cut, and any others between them.
            var sizes: [Int] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let size = [1, 60, 500, 1188, 1450].randomElement(using: &random)!
                sizes += Array(repeating: size, count: Int.random(in: 0...(round % 3 == 0 ? 70 : 9), using: &random))
                sizes.append(Int.random(in: 1...1500, using: &random))
            }
            let datagrams = sizes.map { size in (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) } }
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: sizes.reduce(0, +), alignment: 16)
            defer { bytes.deallocate() }
            bytes.copyBytes(from: datagrams.joined())
            var vectors: [iovec] = []
            var offset = 0
            for size in sizes {
                vectors.append(iovec(iov_base: bytes.baseAddress! + offset, iov_len: size))
                offset += size
            }
            let sent = vectors.withUnsafeBufferPointer { vectors in
                receiver.withName {
                    runs.send(vectors, by: sender.descriptor, to: $0, length: MemoryLayout<sockaddr_in>.size)
                }
            }
            #expect(sent.count == sizes.count)
            #expect(sent.bytes == bytes.count)
            for datagram in datagrams { #expect(receiver.receive() == datagram) }
            if withoutCutting, zip(sizes, sizes.dropFirst()).contains(where: { $0 == $1 }) { #expect(!runs.cutsRuns) }
        }
    }

    @Test func whatTheKernelRefusesIsCounted() {
        let sender = Endpoint()
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_UNIX)
        var runs = DatagramRuns()
        var byte: UInt8 = 1
        let sent = withUnsafeMutablePointer(to: &byte) { byte in
            let vectors = [iovec(iov_base: byte, iov_len: 1), iovec(iov_base: byte, iov_len: 1)]
            return withUnsafePointer(to: name) { name in
                name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                    vectors.withUnsafeBufferPointer {
                        runs.send($0, by: sender.descriptor, to: name, length: MemoryLayout<sockaddr_in>.size)
                    }
                }
            }
        }
        #expect(sent.count == 0)
        #expect(sent.bytes == 0)
    }
}
