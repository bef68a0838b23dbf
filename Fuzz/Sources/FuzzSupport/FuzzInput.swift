import Glibc
import MediaContainers

/// Runs `body` with the bytes as a file that can be searched, and again as a pipe: the readers take
/// different paths.
public func withFuzzFiles(_ bytes: UnsafeRawBufferPointer, _ body: (InputFile) -> Void) {
    ftruncate(memoryFile, 0)
    write(bytes, to: memoryFile)
    lseek(memoryFile, 0, SEEK_SET)
    body(InputFile(descriptor: memoryFile, name: "file", closing: false))

    // Larger ones would wait for a reader forever.
    guard bytes.count <= 4096 else { return }
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { fatalError("no pipe") }
    write(bytes, to: ends[1])
    close(ends[1])
    body(InputFile(descriptor: ends[0], name: "pipe", closing: true))
}

let memoryFile: Int32 = {
    var template = Array("/dev/shm/fuzz-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { fatalError("no file in /dev/shm") }
    unlink(template)
    return descriptor
}()

private func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) {
    guard bytes.count > 0 else { return }
    guard Glibc.write(descriptor, bytes.baseAddress!, bytes.count) == bytes.count else { fatalError("short write") }
}
