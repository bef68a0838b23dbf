import Glibc

/// A folder of its own for a test; gone with its last reference, and all that is in it.
package final class TemporaryFolder {
    package let path: String

    package init() {
        var template = Array("/tmp/capturer-tests-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "no folder can be made in /tmp: errno \(errno)")
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit { removeTree(path) }

    /// The path of a file in it.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file, and gives its path.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> String {
        try writeBytes(bytes, to: file(name))
        return file(name)
    }

    package func read(_ name: String) throws -> [UInt8] { try readBytes(file(name)) }
}

/// Removes a file, or a folder with all that is in it; links are not followed.
package func removeTree(_ path: String) {
    if unlink(path) == 0 { return }
    if let folder = opendir(path) {
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != ".." { removeTree("\(path)/\(name)") }
        }
        closedir(folder)
    }
    rmdir(path)
}

package func readBytes(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    try require(descriptor >= 0, "\(path) cannot be opened: errno \(errno)")
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(descriptor, &block, block.count)
        try require(count >= 0, "\(path) cannot be read: errno \(errno)")
        if count == 0 { return bytes }
        bytes += block[..<count]
    }
}

package func writeBytes(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    try require(descriptor >= 0, "\(path) cannot be opened: errno \(errno)")
    defer { close(descriptor) }
    var done = 0
    while done < bytes.count {
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + done, bytes.count - done) }
        try require(count > 0, "\(path) cannot be written: errno \(errno)")
        done += count
    }
}

/// A pipe whose writing end has been filled with `bytes` and closed: at most 64 KiB.
package func pipeHolding(_ bytes: [UInt8]) throws -> Int32 {
    var ends: [Int32] = [0, 0]
    try require(closingPipe(&ends) == 0, "no pipe: errno \(errno)")
    if !bytes.isEmpty {
        try require(write(ends[1], bytes, bytes.count) == bytes.count, "the pipe does not take \(bytes.count) bytes")
    }
    close(ends[1])
    return ends[0]
}

/// `pipe` whose ends programs started meanwhile do not inherit, since they would keep it open.
package func closingPipe(_ ends: inout [Int32]) -> Int32 {
    let result = pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return result
}
