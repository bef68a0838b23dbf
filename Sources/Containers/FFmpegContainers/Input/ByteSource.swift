import CLibAV
import MediaContainers

/// Lets the library read and seek through an `InputFile`. The library holds an unretained pointer, so it must outlive
/// its context.
final class ByteSource {
    /// The context for the library.
    let context: UnsafeMutablePointer<AVIOContext>
    /// The error of the last read; the library passes only codes.
    private(set) var error: MediaFileError?

    /// Whether a wait was interrupted, and nothing was asked for since.
    private(set) var isLeftAlone = false

    private let file: InputFile

    init(_ file: InputFile) throws(MediaFileError) {
        self.file = file
        // The context frees or replaces its block, so that it must come from the library's allocator.
        guard let block = av_malloc(blockSize) else { throw .outOfMemory(file.path) }
        guard
            let made = avio_alloc_context(
                block.assumingMemoryBound(to: UInt8.self), Int32(blockSize), 0, nil, readBytes, nil,
                file.isSeekable ? seekBytes : nil)
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

    /// What failed before a seek says nothing of what is read after it.
    func forgetError() { error = nil }

    /// The interruption of a wait; nil without one. The next read goes on with the bytes that follow.
    func takeInterruption() -> MediaFileError? {
        guard let interruption = error, interruption.code == .interrupted else { return nil }
        error = nil
        isLeftAlone = true
        context.pointee.eof_reached = 0
        context.pointee.error = 0
        return interruption
    }

    fileprivate func read(into bytes: UnsafeMutableRawBufferPointer) -> Int32 {
        do {
            let count = try file.readAvailable(into: bytes)
            isLeftAlone = false
            return count > 0 ? Int32(count) : clibav_end
        } catch {
            self.error = error
            // For which the library does not end what it has begun.
            return error.code == .interrupted ? clibav_again : clibav_external
        }
    }

    fileprivate func seek(to offset: Int64, whence: Int32) -> Int64 {
        let origin: Int64
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return file.size ?? -1
        case SEEK_SET: origin = 0
        case SEEK_CUR: origin = file.position
        case SEEK_END: origin = file.size ?? 0
        default: return -1
        }
        let (target, overflow) = origin.addingReportingOverflow(offset)
        guard !overflow, target >= 0 else { return -1 }
        do {
            try file.seek(to: target)
            return target
        } catch {
            self.error = error
            return Int64(clibav_external)
        }
    }
}

/// Reads of this size bypass the file's block, directly into the library's buffer.
private let blockSize = 64 * 1024

private let readBytes: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int32) -> Int32 = {
    source, bytes, count in
    guard let source, count > 0 else { return clibav_external }
    return Unmanaged<ByteSource>.fromOpaque(source).takeUnretainedValue()
        .read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
}

private let seekBytes: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = { source, offset, whence in
    guard let source else { return -1 }
    return Unmanaged<ByteSource>.fromOpaque(source).takeUnretainedValue().seek(to: offset, whence: whence)
}
