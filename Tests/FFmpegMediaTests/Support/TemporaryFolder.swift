import Glibc
import Testing

/// A folder of its own for a test; gone with its last reference.
final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/ffmpeg-media-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) }
        path = String(cString: try #require(made))
    }

    deinit {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
                }
                unlink(file(name))
            }
            closedir(folder)
        }
        rmdir(path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}

func readBytes(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    try #require(descriptor >= 0, "\(path)")
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(descriptor, &block, block.count)
        try #require(count >= 0)
        if count == 0 { return bytes }
        bytes += block[..<count]
    }
}

func writeBytes(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    try #require(descriptor >= 0, "\(path)")
    defer { close(descriptor) }
    var done = 0
    while done < bytes.count {
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + done, bytes.count - done) }
        try #require(count > 0)
        done += count
    }
}

/// A pipe whose writing end has been filled with `bytes` and closed: at most 64 KiB.
func pipeHolding(_ bytes: [UInt8]) throws -> Int32 {
    var ends: [Int32] = [0, 0]
    try #require(closingPipe(&ends) == 0)
    if !bytes.isEmpty { try #require(write(ends[1], bytes, bytes.count) == bytes.count) }
    close(ends[1])
    return ends[0]
}

/// `pipe` whose ends programs started meanwhile do not inherit, since they would keep it open.
func closingPipe(_ ends: inout [Int32]) -> Int32 {
    let result = pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return result
}
