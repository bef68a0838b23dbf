import Glibc

/// Many viewers of one stream, on one thread: each counts its frames, and measures from `X-Timestamp` to the last byte.
struct Viewers {
    private struct Viewer {
        var head: [UInt8] = []
        /// Bytes of the picture that are still to come.
        var rest = 0
        var timestamp = 0.0
        var frames = 0
    }

    struct Failure: Error {
        var what: String
        var code: Int32
    }

    private var polled: [pollfd] = []
    private var viewers: [Int32: Viewer] = [:]
    private var latencies: [Double] = []
    private var bytes = 0
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)

    init(port: Int, count: Int) throws {
        for _ in 0..<count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(UInt16(port).bigEndian)
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            let result = withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else { throw Failure(what: "connect", code: errno) }
            let request = Array("GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n".utf8)
            guard write(descriptor, request, request.count) == request.count else {
                throw Failure(what: "write", code: errno)
            }
            polled.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
            viewers[descriptor] = Viewer()
        }
    }

    mutating func watch(seconds: Int) throws {
        let end = now() + Double(seconds)
        while now() < end {
            guard poll(&polled, nfds_t(polled.count), 100) > 0 else { continue }
            for index in polled.indices where polled[index].revents != 0 {
                let descriptor = polled[index].fd
                let read = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                guard read > 0 else {
                    close(descriptor)
                    viewers[descriptor] = nil
                    // Negative ones are passed over.
                    polled[index].fd = -1
                    continue
                }
                bytes += read
                take(UnsafeRawBufferPointer(rebasing: buffer[..<read]), of: descriptor)
            }
        }
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer, of descriptor: Int32) {
        guard var viewer = viewers.removeValue(forKey: descriptor) else { return }
        var index = 0
        while index < bytes.count {
            if viewer.rest > 0 {
                let count = min(viewer.rest, bytes.count - index)
                viewer.rest -= count
                index += count
                if viewer.rest == 0 {
                    viewer.frames += 1
                    latencies.append(now() - viewer.timestamp)
                }
                continue
            }
            viewer.head.append(bytes[index])
            index += 1
            if viewer.head.suffix(4) == [13, 10, 13, 10] {
                for line in String(decoding: viewer.head, as: UTF8.self).split(separator: "\r\n") {
                    let words = line.split(separator: ":", maxSplits: 1)
                    guard words.count == 2 else { continue }
                    let value = words[1].drop { $0 == " " }
                    if words[0].lowercased() == "content-length" { viewer.rest = Int(value) ?? 0 }
                    if words[0].lowercased() == "x-timestamp" { viewer.timestamp = Double(value) ?? 0 }
                }
                viewer.head.removeAll(keepingCapacity: true)
            }
        }
        viewers[descriptor] = viewer
    }

    func report(seconds: Int) -> String {
        let sorted = latencies.sorted()
        func quantile(_ part: Double) -> Double {
            sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))] * 1000
        }
        let rates = viewers.values.map { Double($0.frames) / Double(seconds) }.sorted()
        return "viewers: \(viewers.count), frames a second \(rates.first ?? 0) to \(rates.last ?? 0), "
            + "\(bytes / seconds / 1_000_000) MB/s, capture to last byte p50 \(quantile(0.5)) ms, p99 \(quantile(0.99)) ms"
    }

    private func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
