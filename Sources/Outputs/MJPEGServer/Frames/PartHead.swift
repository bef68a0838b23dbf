import NIOCore
import VideoCapturing

/// The lines around each picture of a stream, as uStreamer writes them.
enum PartHead {
    static func writeBoundary(to buffer: inout ByteBuffer) {
        buffer.writeStaticString("\r\n--boundarydonotcross\r\n")
    }

    /// The lines of every part; the empty line that ends them is left to the caller.
    static func write(length: Int, wallClock: Int64, to buffer: inout ByteBuffer) {
        buffer.writeStaticString("Content-Type: image/jpeg\r\nContent-Length: ")
        buffer.writeDecimal(length)
        buffer.writeStaticString("\r\nX-Timestamp: ")
        buffer.writeSeconds(nanoseconds: wallClock)
        buffer.writeStaticString("\r\n")
    }

    /// The head of a part that is not known yet, which follows the part before at once: some browsers paint a
    /// picture only when the next one's head arrives.
    static func writeAdvance(wallClock: Int64, to buffer: inout ByteBuffer) {
        buffer.writeStaticString("Content-Type: image/jpeg\r\nX-Timestamp: ")
        buffer.writeSeconds(nanoseconds: wallClock)
        buffer.writeStaticString("\r\n\r\n")
    }

    /// The lines that a viewer gets who asks for `extra_headers`.
    static func writeExtra(
        _ information: FrameInformation, viewerFrameRate: Int, exposedAt: MediaTime, now: MediaTime,
        to buffer: inout ByteBuffer
    ) {
        func time(_ name: StaticString, _ value: Int64) {
            buffer.writeStaticString(name)
            buffer.writeSeconds(nanoseconds: value)
            buffer.writeStaticString("\r\n")
        }
        func number(_ name: StaticString, _ value: Int) {
            buffer.writeStaticString(name)
            buffer.writeDecimal(value)
            buffer.writeStaticString("\r\n")
        }
        buffer.writeStaticString(
            information.isOnline ? "X-UStreamer-Online: true\r\n" : "X-UStreamer-Online: false\r\n")
        number("X-UStreamer-Dropped: ", information.dropped)
        number("X-UStreamer-Width: ", information.width)
        number("X-UStreamer-Height: ", information.height)
        number("X-UStreamer-Client-FPS: ", viewerFrameRate)
        time("X-UStreamer-Grab-Begin-Time: ", information.timestamp.nanoseconds)
        time("X-UStreamer-Grab-End-Time: ", information.timestamp.nanoseconds)
        time("X-UStreamer-Encode-Begin-Time: ", information.encodeBegin.nanoseconds)
        time("X-UStreamer-Encode-End-Time: ", information.encodeEnd.nanoseconds)
        time("X-UStreamer-Expose-Begin-Time: ", information.encodeEnd.nanoseconds)
        time("X-UStreamer-Expose-Cmp-Time: ", information.encodeEnd.nanoseconds)
        time("X-UStreamer-Expose-End-Time: ", exposedAt.nanoseconds)
        time("X-UStreamer-Send-Time: ", now.nanoseconds)
        time("X-UStreamer-Latency: ", (now - information.timestamp).nanoseconds)
    }
}
