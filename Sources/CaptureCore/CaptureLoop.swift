/// What a capture thread does with a source of one kind of media, step by step. ``run()`` puts the steps in their order.
package protocol CaptureLoop: AnyObject {
    associatedtype Media: CaptureMedia

    /// What the thread shares with its callers.
    var control: CaptureControl<Media> { get }
    /// The name of the source, for errors.
    var sourceName: String? { get }
    /// Opens the source.
    func open() throws
    /// Hands over a copy of the settings of the source, which is not called while the control is locked.
    var adopt: (inout Media) -> Void { get }
    /// Starts the source.
    func start() throws
    /// Delivers until a stop is ordered or the source ends.
    func deliverUntilStopped() throws -> CaptureState.StopReason
    /// Stops the source, also one that could not start.
    func stop()
    /// Closes the source.
    func close()
}

extension CaptureLoop {
    /// The thread's whole life, from open to close.
    package func run() {
        control.begin()
        do {
            try open()
        } catch {
            control.failOpening(captureError(error, operation: "open"))
            return
        }
        control.didOpen(adopt)
        while control.awaitStart() { runSession() }
        close()
        control.didClose()
    }

    /// From start to stop.
    private func runSession() {
        var ending: CaptureState.StopReason
        do {
            try start()
            control.didStart(adopt)
            control.waiter.beginSession()
            ending = try deliverUntilStopped()
        } catch {
            ending = control.endingOfSession(after: captureError(error, operation: "capture"))
        }
        // A source that runs out or fails is stopped before anyone is notified.
        stop()
        control.didStop(ending)
    }

    private func captureError(_ error: any Error, operation: String) -> CaptureError {
        error as? CaptureError
            ?? CaptureError(.system, operation: operation, subject: sourceName, message: "\(error)")
    }
}
