// Checks of LibcameraCapturer, for Tests/CameraGuest/test_our_libcamera.py: `libcamera-checks WHAT`. Exits with 1 after a fault,
// which it prints; `watch` runs until it is killed.
import CapturerTestKit
import LibcameraCapturer
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

do {
    switch CommandLine.arguments.dropFirst().first {
    case "logic": try checkLogic()
    case "conformance": await checkContract()
    case "picture": try printColors()
    case "starts": try startOften()
    case "watch": try watch()
    case "second": try openSecond()
    case "list": for camera in try LibcameraDevice.cameras() { print(camera) }
    case let word: fail("no such check: \(word ?? "none")")
    }
} catch {
    fail("\(error)")
}

func fail(_ message: String) -> Never {
    print("fault: \(message)")
    exit(1)
}

func expect(_ condition: Bool, _ what: @autoclosure () -> String, line: Int = #line) {
    if !condition { fail("line \(line): \(what())") }
}

/// Small, since loops over pixels are slow in a build for debugging.
func makeCapture() -> LibcameraCapturer {
    LibcameraCapturer(preset: PixelSize(width: 320, height: 180), desiredFrameRate: 30)
}

func checkContract() async {
    let report = await ConformanceSuite(name: "libcamera") { makeCapture() }.runDetached()
    print(report)
    if !report.failures.isEmpty { fail("\(report.failures.count) rules are broken") }
    expect(report.checks.count { $0.outcome == .passed } > report.checks.count / 2, "too few rules were checked")
}

/// Prints the sum and the extremes of each plane of a frame of the test pattern that the camera shows.
func printColors() throws {
    let consumer = RecordingConsumer(limit: 1)
    let capture = makeCapture()
    capture.videoCaptureConsumer = consumer
    try capture.initCapture()
    defer { capture.releaseCapture() }
    print(capture.mode ?? "no mode")
    try capture.startCapture()
    expect(consumer.waitForFrames(1), "no frame")
    let frame = consumer.frames[0]
    expect(frame.pixelFormat == .nv12 && frame.width == 320 && frame.height == 180, "\(frame.format)")
    var extremes: [(UInt8, UInt8)] = [(255, 0), (255, 0), (255, 0)]
    for plane in 0..<2 {
        for row in 0..<frame.buffer.planes[plane].rows {
            frame.buffer.withRow(row, ofPlane: plane) { bytes in
                for (column, byte) in bytes.enumerated() {
                    let index = plane == 0 ? 0 : 1 + column % 2
                    extremes[index] = (min(extremes[index].0, byte), max(extremes[index].1, byte))
                }
            }
        }
    }
    for (name, pair) in zip(["Y", "U", "V"], extremes) { print("\(name) \(pair.0) \(pair.1)") }
}

/// Starts and stops, with a frame each, and opens again now and then; nothing may be left behind.
func startOften() throws {
    let capture = makeCapture()
    var before: Int?
    for round in 0..<60 {
        let consumer = RecordingConsumer(limit: 0)
        capture.videoCaptureConsumer = consumer
        if round % 6 == 0 { try capture.initCapture() }
        try capture.startCapture()
        expect(consumer.waitForFrames(2), "round \(round) has no frames")
        try capture.stopCapture()
        if round % 6 == 5 { capture.releaseCapture() }
        if round == 11 { before = descriptors() }
    }
    expect(descriptors() == before, "\(descriptors()) descriptors are open; it were \(before ?? 0)")
    print("60 starts")
}

func descriptors() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count
}

/// Captures, and prints each tenth frame, each notice, and the state twice a second.
func watch() throws {
    let capture = makeCapture()
    let consumer = FrameLog()
    capture.videoCaptureConsumer = consumer
    capture.setNoticeHandler { say("notice \($0)") }
    try capture.initCapture()
    try capture.startCapture()
    while true {
        usleep(500_000)
        say("state \(capture.state)")
    }
}

/// Finds the camera, and opens it once a line comes in: by then another process has it.
func openSecond() throws {
    let capture = makeCapture()
    expect(try !LibcameraDevice.cameras().isEmpty, "no camera")
    say("ready")
    _ = readLine()
    do throws(CaptureError) {
        try capture.initCapture()
        fail("the camera was not busy")
    } catch {
        say("\(error.code) \(error)")
    }
}

/// Prints at once, also into a pipe.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

final class FrameLog: VideoCaptureConsumer {
    func consumeFrame(_ frame: VideoFrame) {
        if frame.sequenceNumber % 10 == 0 { say("frame \(frame.sequenceNumber) \(frame.timestamp.nanoseconds)") }
    }
}
