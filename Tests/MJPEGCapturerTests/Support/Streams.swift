import CapturerTestKit
import MJPEGCapturer
import TestTools
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// The head of a usual stream.
let streamHead = "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\n\r\n"

func part(_ number: Int, padding: Int = 0) -> [UInt8] {
    let jpeg = picture(number, padding: padding)
    return Array("--frame\r\nContent-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n".utf8) + jpeg
        + Array("\r\n".utf8)
}

/// Pictures with numbers from `first` on, until the client hangs up or there are enough.
func stream(
    to connection: Connection, from first: Int = 0, count: Int = .max, interval: Duration = .milliseconds(5),
    padding: Int = 0
) {
    guard connection.write(streamHead) else { return }
    var number = first
    while number - first < count, connection.write(part(number, padding: padding)) {
        number += 1
        usleep(UInt32(interval.nanoseconds / 1000))
    }
}

extension MJPEGCapturer.Configuration {
    /// Without the environment's proxy, and with less timeout than for real cameras.
    static func test(_ change: (inout MJPEGCapturer.Configuration) -> Void = { _ in }) -> MJPEGCapturer.Configuration {
        var configuration = MJPEGCapturer.Configuration()
        configuration.proxy = ""
        configuration.connectTimeout = .seconds(20)
        configuration.stallTimeout = .seconds(20)
        configuration.reconnect = .every(.milliseconds(10))
        configuration.pollInterval = .milliseconds(10)
        change(&configuration)
        return configuration
    }
}

/// What a capture tells.
final class EventLog: Sendable {
    private let entries = Locked<[String]>([])

    func add(_ entry: String) {
        entries.withLock { $0.append(entry) }
        entries.wakeAll()
    }
    var all: [String] { entries.withLock { $0 } }

    /// Waits for an entry.
    func await(_ limit: Duration = .seconds(60), _ condition: (String) -> Bool) -> Bool {
        let end = MonotonicClock().now.advanced(by: limit)
        return entries.wait(until: end) { $0.contains(where: condition) ? () : nil } != nil
    }
}

/// The error that a capture does not begin with.
func failure(of capture: MJPEGCapturer) -> CaptureError? {
    defer { capture.releaseCapture() }
    do {
        try capture.initCapture()
        return nil
    } catch {
        return error
    }
}
