import CLibAV
import MediaContainers

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Lets the library write into an `OutputFile`, and rewrite parts of it. The library holds an unretained pointer, so it
/// must outlive its context.
final class ByteSink {
    /// The context for the library.
    let context: UnsafeMutablePointer<AVIOContext>

    private let file: OutputFile
    private var position: Int64 = 0
    private var isRecordOpen = false

    init(_ file: OutputFile) throws(MediaFileError) {
        self.file = file
        // The context frees or replaces its block, so that it must come from the library's allocator.
        guard let block = av_malloc(blockSize) else { throw .outOfMemory(file.path) }
        guard
            let made = clibav_make_writer(block, Int32(blockSize), nil, writeBytes, file.isSeekable ? seekBytes : nil)
        else {
            av_free(block)
            throw .outOfMemory(file.path)
        }
        context = made
        context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        av_free(context.pointee.buffer)
        var context: UnsafeMutablePointer<AVIOContext>? = context
        avio_context_free(&context)
    }

    /// Completes what was written since the last call: a write that fails later truncates the file back to here.
    func endRecord() throws(MediaFileError) {
        guard isRecordOpen else { return }
        isRecordOpen = false
        try file.endRecord()
    }

    fileprivate func write(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        do throws(MediaFileError) {
            // A part before the end is rewritten, the rest appended.
            let rewritten = Int(min(Int64(bytes.count), max(0, file.bytesWritten - position)))
            if rewritten > 0 {
                try endRecord()
                try file.patch(UnsafeRawBufferPointer(rebasing: bytes[..<rewritten]), at: position)
            }
            if rewritten < bytes.count {
                isRecordOpen = true
                try file.write(UnsafeRawBufferPointer(rebasing: bytes[rewritten...]))
            }
            position += Int64(bytes.count)
            return Int32(bytes.count)
        } catch {
            // The file keeps the error; it is thrown when the library has returned.
            return clibav_external
        }
    }

    fileprivate func seek(to offset: Int64, whence: Int32) -> Int64 {
        let end = file.bytesWritten
        let target: Int64
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return end
        case SEEK_SET: target = offset
        case SEEK_CUR: target = position + offset
        case SEEK_END: target = end + offset
        default: return Int64(clibav_external)
        }
        // Files are written without holes.
        guard (0...end).contains(target) else { return Int64(clibav_external) }
        position = target
        return target
    }
}

private let blockSize = 64 * 1024

private let writeBytes: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<UInt8>?, Int32) -> Int32 = {
    sink, bytes, count in
    guard let sink, count >= 0 else { return clibav_external }
    return Unmanaged<ByteSink>.fromOpaque(sink).takeUnretainedValue()
        .write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
}

private let seekBytes: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = { sink, offset, whence in
    guard let sink else { return Int64(clibav_external) }
    return Unmanaged<ByteSink>.fromOpaque(sink).takeUnretainedValue().seek(to: offset, whence: whence)
}
