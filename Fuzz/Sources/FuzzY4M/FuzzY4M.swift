import FuzzSupport
import MediaContainers
import VideoCapturing

/// Any bytes end in frames or in an error; each frame has the size that the header states.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzY4M(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withFuzzFiles(UnsafeRawBufferPointer(start: start, count: count)) { file in
        guard let reader = try? Y4MReader(file) else { return }
        // A picture of a pipe whose size is only claimed costs memory that the system gives on use; making
        // and freeing it each time would hide slow inputs that matter.
        guard file.isSeekable || reader.format.imageWidth * reader.format.imageHeight < 1 << 16 else { return }
        precondition((1...VideoFormat.maximumSide).contains(reader.format.imageWidth))
        precondition((1...VideoFormat.maximumSide).contains(reader.format.imageHeight))
        var last = Duration.seconds(-1)
        var frames = 0
        while let frame = try? reader.nextFrame() {
            precondition(frame.buffer.width == reader.format.imageWidth)
            precondition(frame.timestamp >= last)
            last = frame.timestamp
            frames += 1
        }
        precondition(frames <= count, "more frames than bytes")
        guard reader.canRewind else { return }
        guard (try? reader.rewind()) != nil else { fatalError("what was read once is read again") }
        var again = 0
        while (try? reader.nextFrame()) != nil { again += 1 }
        precondition(again == frames)
    }
    playWithReports()
    return 0
}
