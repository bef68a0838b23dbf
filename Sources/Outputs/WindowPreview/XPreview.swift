import VideoCapturing
import XDisplay

/// The thread of a window on an X server.
enum XPreview {
    /// Starts the thread, and waits until the window is there.
    static func start(_ configuration: WindowPreview.Configuration, _ state: PreviewState) throws(CaptureError) {
        let start = PreviewStart()
        try CaptureThread(name: "window") {
            state.begin()
            let event = run(configuration, state, start)
            // All that belongs to the display has been released by now.
            state.end(with: event)
        }
        guard try start.wait() else {
            state.waiter.raiseStop()
            throw CaptureError(
                .stalled, operation: "open a window", subject: configuration.display,
                message: "The X server takes connections but does not answer; look whether it hangs.")
        }
    }

    /// Opens the window, and runs until it is closed or lost.
    private static func run(
        _ configuration: WindowPreview.Configuration, _ state: PreviewState, _ start: PreviewStart
    ) -> WindowPreview.Event? {
        let window: XWindow
        let loop: PreviewLoop
        do {
            window = try XWindow(configuration, stopDescriptor: state.waiter.stopDescriptor)
            loop = try PreviewLoop(configuration, state, window)
            window.flush()
        } catch {
            start.report(.failure(XPreview.error(error, "open a window", configuration.display)))
            return nil
        }
        start.report(.success(()))
        do {
            try run(loop, on: window, state.waiter)
            return loop.isClosed ? .closed : nil
        } catch XFailure.stopping {
            // Closed by the program.
            return nil
        } catch {
            return .failed(XPreview.error(error, "show frames", configuration.display))
        }
    }

    private static func run(_ loop: PreviewLoop, on window: XWindow, _ waiter: CaptureWaiter) throws {
        while !waiter.isStopping, !loop.isClosed {
            // What it was about is looked for after this, so that nothing is missed.
            waiter.clearWakeUp()
            try window.readEvents(loop.handle)
            let now = MonotonicClock().now
            _ = try loop.turn(now)
            window.flush()
            if try window.readQueuedEvents(loop.handle) || loop.isClosed { continue }
            _ = waiter.waitForInput(window.connection.descriptor, atMost: loop.timeToNextTurn(now))
        }
    }

    private static func error(_ error: any Error, _ operation: String, _ display: String?) -> CaptureError {
        if let error = error as? CaptureError { return error }
        let name = display ?? XConnection.environment("DISPLAY")
        switch error {
        case XFailure.silent:
            return CaptureError(
                .deviceLost, operation: operation, subject: name,
                message: "The X server no longer answers; open the preview again when it does.")
        case XFailure.refused(let code):
            return CaptureError(
                .unavailable, operation: operation, subject: name,
                message: "The X server has refused it (error \(code)); look into its log.")
        default:
            return CaptureError(
                .deviceLost, operation: operation, subject: name,
                message: "The X server has closed the connection, or has ended; open the preview again when it is back."
            )
        }
    }
}
