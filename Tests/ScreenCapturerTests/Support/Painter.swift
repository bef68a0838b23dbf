import VideoCapturing
import XTestTools

/// A program that draws a small square each two milliseconds, on a thread of its own, until it is told to stop.
final class Painter: Sendable {
    let windowID: UInt32
    private let goesOn = Locked(true)
    private let thread: CaptureThread

    init(_ screen: VirtualScreen) throws {
        let client = try XClient(screen)
        let window = try XWindow(client, PixelRect(x: 0, y: 0, width: screen.width, height: screen.height))
        windowID = window.id
        // The thread alone uses them from here on.
        nonisolated(unsafe) let canvas = window
        thread = try CaptureThread(name: "painter") { [goesOn] in
            var step = 0
            while goesOn.withLock({ $0 }) {
                let rect = PixelRect(x: step % (screen.width - 8), y: step % (screen.height - 8), width: 8, height: 8)
                try? canvas.fill(rect, 0xFF00_0000 | Color(truncatingIfNeeded: step &* 0x3_1415))
                step += 1
                pause(.milliseconds(2))
            }
        }
    }

    /// Returns once the window is gone.
    func stop() {
        goesOn.withLock { $0 = false }
        thread.join()
    }
}
