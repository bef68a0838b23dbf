import CLibAV
import MediaContainers

/// Tells by the first bytes what a file is, and takes none of them. The name counts for nothing.
enum InputProbe {
    /// The demuxer for the file; nil when its kind is unknown.
    ///
    /// Looks at few bytes first, since more of them may be long in coming from a pipe.
    static func demuxer(for file: InputFile) throws(MediaFileError) -> UnsafePointer<AVInputFormat>? {
        var size = 2048
        while true {
            let isLast = size >= largest
            let (found, score, count) = try file.peek(size, probe(_:))
            if let found, score > certain || isLast || count < size { return found }
            if isLast || count < size { return nil }
            size *= 2
        }
    }

    static func name(of demuxer: UnsafePointer<AVInputFormat>) -> String { String(cString: demuxer.pointee.name) }

    private static let largest = 64 * 1024
    /// What the library itself goes by: a quarter of the highest score.
    private static let certain: Int32 = 25

    private static func probe(_ bytes: UnsafeRawBufferPointer) -> (UnsafePointer<AVInputFormat>?, Int32, Int) {
        guard !bytes.isEmpty else { return (nil, 0, 0) }
        // The library reads beyond what it is given, and wants zeros there.
        let padded = UnsafeMutableRawBufferPointer.allocate(
            byteCount: bytes.count + Int(AVPROBE_PADDING_SIZE), alignment: 16)
        defer { padded.deallocate() }
        padded.initializeMemory(as: UInt8.self, repeating: 0)
        padded.copyMemory(from: bytes)
        var score: Int32 = 0
        let found = "".withCString { name in
            var data = AVProbeData(
                filename: name, buf: padded.baseAddress?.assumingMemoryBound(to: UInt8.self),
                buf_size: Int32(bytes.count), mime_type: nil)
            return av_probe_input_format3(&data, 1, &score)
        }
        return (found, score, bytes.count)
    }
}
