import CBareEncoder
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// The same clip through libvpx alone, its frames in memory beforehand; prints CPU and wall time of the encoding in
/// seconds.
func encodeBare(_ clip: Clip) throws {
    let file = open(clip.input, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw BareError(description: "\(clip.input): \(String(cString: strerror(errno)))") }
    defer { close(file) }
    var status = stat()
    fstat(file, &status)
    let bytes = Int(status.st_size)
    let memory = mmap(nil, max(1, bytes), PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0)
    guard let memory, memory != MAP_FAILED else {
        throw BareError(description: "\(clip.input): \(String(cString: strerror(errno)))")
    }
    defer { munmap(memory, bytes) }
    var settings = bare_settings()
    settings.width = Int32(clip.format.imageWidth)
    settings.height = Int32(clip.format.imageHeight)
    settings.is_nv12 = clip.format.pixelFormat == .nv12 ? 1 : 0
    settings.frames_per_second = clip.rate
    // As the VP8 encoder of this project has it, and libvpx inside.
    settings.ticks_per_second = 10_000_000
    settings.bitrate = Int32(clip.bitrate)
    settings.speed = -6
    let frameBytes = clip.format.pixelFormat.packedByteCount(
        width: clip.format.imageWidth, height: clip.format.imageHeight)
    var result = bare_result()
    let code = bare_encode(
        &settings, memory.assumingMemoryBound(to: UInt8.self), bytes / frameBytes, clip.output, &result)
    guard code == 0 else { throw BareError(description: "\(clip.output): libvpx or file error \(code)") }
    print("\(result.cpu) \(result.wall)")
}

struct BareError: Error, CustomStringConvertible {
    let description: String
}
