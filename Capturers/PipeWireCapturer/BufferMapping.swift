import CPipeWire
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The memory of one buffer, mapped for reading: for as long as the stream has the buffer or a frame lies in it.
///
/// `@unchecked Sendable`: immutable, and the memory is only read.
final class BufferMapping: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    private let length: Int
    /// The buffer's first byte.
    let address: UnsafeRawPointer
    /// The bytes from there on.
    let byteCount: Int

    /// Nil where the memory is not shared, or the descriptor has less than the server says: reading beyond the end of the
    /// memory would end the process.
    init?(_ data: spa_data) {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let (count, mapped) = (Int(data.maxsize), data.data)
        guard count > 0 else { return nil }
        let before: Int
        let made: UnsafeMutableRawPointer?
        if let mapped {
            // The library's own mapping ends with the stream.
            before = Int(bitPattern: mapped) % page
            made = cpw_map_again(mapped - before, before + count)
        } else {
            before = Int(data.mapoffset) % page
            var info = stat()
            guard data.type == SPA_DATA_MemFd.rawValue, fstat(Int32(clamping: data.fd), &info) == 0,
                Int(data.mapoffset) + count <= info.st_size
            else { return nil }
            let pages = mmap(
                nil, before + count, PROT_READ, MAP_SHARED, Int32(clamping: data.fd), Int(data.mapoffset) - before)
            made = pages == MAP_FAILED ? nil : pages
        }
        guard let start = made else { return nil }
        self.start = start
        length = before + count
        address = UnsafeRawPointer(start + before)
        byteCount = count
    }

    deinit { munmap(start, length) }
}
