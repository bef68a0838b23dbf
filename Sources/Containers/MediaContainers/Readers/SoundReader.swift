/// Reads the sound of a file, decoded, one stretch after the other. Not thread-safe.
package protocol SoundReader: AnyObject {
    /// The number of channels, one or two; files with more are mixed down.
    var channelCount: Int { get }

    /// Frames per second.
    var sampleRate: Int { get }

    /// Reads the next stretch.
    ///
    /// - Parameter body: takes the samples, interleaved, which are valid during the call only, and the time of the first
    ///   one, counted from the first picture of the file; without pictures from the first sample.
    /// - Returns: false at the end of the sound.
    /// - Throws: `MediaFileError`; damaged packets are left out without an error.
    func readSamples(_ body: (_ samples: UnsafeBufferPointer<Float>, _ time: Duration) -> Void) throws -> Bool

    /// Goes to a time: the next sample is the first one at or after it.
    ///
    /// - Throws: `MediaFileError`.
    func seek(to time: Duration) throws
}
