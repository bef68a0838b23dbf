import VideoCapturing

/// Takes packets into a file. Finish it once; later calls do nothing.
public protocol PacketWriter: PacketSink {
    /// The bytes of output so far; of writers without a file the bytes that went in. May be asked for from
    /// any thread at any time.
    var bytesWritten: Int64 { get }
}
