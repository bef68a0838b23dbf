import Dispatch
import FileCapturer
import MediaContainers
import VP8Codec
import VideoCapturing

/// A raw clip to VP8 in IVF, the way an application does it: file → publisher → queue → encoder → writer. The next
/// frames are read while one is encoded; on one thread, without the queue, one is read and encoded after the other.
func encodeFile(_ clip: Clip, isOnOneThread: Bool) throws {
    let capture = FileCapturer(path: clip.input, rawFormat: clip.format, pacing: .asFastAsPossible)
    var configuration = encoderConfiguration(bitrate: clip.bitrate * 1000)
    configuration.frameRate = clip.format.estimatedFramesPerSecond ?? configuration.frameRate
    let encoding = EncodingConsumer(
        try VP8Encoder(configuration),
        to: [(name: clip.output, sink: IVFWriter(try OutputFile(path: clip.output, overwrite: true)))],
        onFailure: { fatalError("\($0.error)") })
    let publisher = VideoPublisher(capture)
    // One frame waits while one is encoded and one is read. More would only leave the cache: four cost 5 % of CPU at 720p.
    try publisher.add(
        isOnOneThread ? InlineDelivery(encoding) : encoding, name: "vp8", queue: .init(capacity: 1, policy: .block))

    let end = DispatchSemaphore(value: 0)
    let changes = capture.stateChanges()
    Task.detached {
        for await change in changes {
            if case .stopped = change.new { end.signal() }
        }
    }
    try publisher.start()
    end.wait()
    // Waits for the frames that are still in the queue.
    try publisher.stop()
    encoding.finish()
    publisher.close()
}
