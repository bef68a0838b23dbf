import Dispatch
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the kernel knows of this process's threads and descriptors, through procfs.
enum ThreadInspection {
    /// The kernel's number of the calling thread; that of the main thread is the process's.
    static var currentIdentifier: Int32 {
        // "<process>/task/<thread>"
        var target = [UInt8](repeating: 0, count: 64)
        let length = target.withUnsafeMutableBytes {
            readlink("/proc/thread-self", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        guard length > 0, let slash = target[..<length].lastIndex(of: UInt8(ascii: "/")) else { return -1 }
        return Int32(String(decoding: target[(slash + 1)..<length], as: UTF8.self)) ?? -1
    }

    static func isAlive(_ thread: Int32) -> Bool {
        access("/proc/self/task/\(thread)", F_OK) == 0
    }

    /// Whether the caller is the process's first thread, or runs what the main queue was given.
    static var isOnMain: Bool {
        mainQueueMark.isSet || currentIdentifier == getpid()
    }

    private static let mainQueueMark = MainQueueMark()

    static var openDescriptors: Int { entries(of: "/proc/self/fd") }

    private static func entries(of path: String) -> Int {
        guard let directory = opendir(path) else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }

    /// The threads on which many small tasks have run: the cooperative pool, as far as it is visible.
    static func cooperativePool() -> Set<Int32> {
        let count = 32
        let seen = Locked<(threads: Set<Int32>, finished: Int)>(([], 0))
        for _ in 0..<count {
            Task.detached {
                let thread = ThreadInspection.currentIdentifier
                seen.withLock { seen in
                    seen.threads.insert(thread)
                    seen.finished += 1
                }
                seen.wakeAll()
            }
        }
        return seen.wait(until: now.advanced(by: .seconds(2))) { $0.finished == count ? $0.threads : nil } ?? []
    }
}

/// A mark that only what runs on the main queue can see.
private final class MainQueueMark: Sendable {
    private let key = DispatchSpecificKey<Bool>()

    init() { DispatchQueue.main.setSpecific(key: key, value: true) }

    var isSet: Bool { DispatchQueue.getSpecific(key: key) ?? false }
}

/// Asks the kernel whether memory may be read, since reading it to find out would end the process.
enum MemoryInspection {
    /// Whether the first and the last byte of every row of a picture can be read.
    static func isReadable(_ buffer: PixelBuffer) -> Bool {
        var ends: (read: Int32, write: Int32) = (-1, -1)
        let made = withUnsafeMutableBytes(of: &ends) { pipe($0.baseAddress!.assumingMemoryBound(to: Int32.self)) }
        guard made == 0 else { return false }
        defer {
            close(ends.read)
            close(ends.write)
        }
        func canRead(_ address: UnsafeRawPointer) -> Bool {
            guard write(ends.write, address, 1) == 1 else { return false }
            var byte: UInt8 = 0
            return read(ends.read, &byte, 1) == 1
        }
        return buffer.planes.enumerated().allSatisfy { plane, shape in
            shape.rowBytes == 0
                || (0..<shape.rows).allSatisfy { row in
                    buffer.withRow(row, ofPlane: plane) { bytes in
                        canRead(bytes.baseAddress!) && canRead(bytes.baseAddress! + bytes.count - 1)
                    }
                }
        }
    }
}
