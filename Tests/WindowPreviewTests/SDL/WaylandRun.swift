import SDLPreview
import TestTools
import VideoCapturing
import WindowPreview
import XTestTools

/// A preview by SDL on a compositor, with a person in front of it who sees pixels and types.
final class WaylandRun {
    let compositor: Compositor
    let preview: WindowPreview
    let events: EventList

    /// Opens a preview and shows a first frame.
    ///
    /// - Parameter title: begins with `test `.
    init(
        _ compositor: Compositor, first: VideoFrame, _ rendering: SDLRendering = .software, title: String = "test a",
        _ change: (inout WindowPreview.Configuration) -> Void = { _ in }
    ) throws {
        self.compositor = compositor
        let events = EventList()
        self.events = events
        var configuration = WindowPreview.Configuration(title: title, backends: [.sdl(rendering: rendering)])
        change(&configuration)
        let settled = configuration
        var opened: WindowPreview?
        try withEnvironment(compositor.environment) {
            opened = try WindowPreview(configuration: settled) { events.append($0) }
        }
        preview = opened!
        preview.consumeFrame(first)
        let preview = preview
        guard eventually({ preview.statistics.framesShown == 1 }) else {
            throw Compositor.Failure(description: "the first frame is not shown: \(preview.statistics)")
        }
    }

    deinit { preview.close() }

    func show(_ frame: VideoFrame) { preview.consumeFrame(frame) }

    func fault(_ quarters: Quarters, in rect: PixelRect, within tolerance: Int = 3) throws -> String? {
        try quarters.fault(in: rect, within: tolerance) { try compositor.pixels() }
    }

    func fault(blackAround rect: PixelRect, in outer: PixelRect) throws -> String? {
        try blackFault(around: rect, in: outer) { try compositor.pixels() }
    }

    /// Waits until all keys so far have been obeyed: the answer to a later one has come.
    func fence() throws {
        let count = events.stills.count
        try compositor.type("s")
        guard eventually({ events.stills.count > count }) else {
            throw Compositor.Failure(description: "the window does not hear keys")
        }
    }
}
