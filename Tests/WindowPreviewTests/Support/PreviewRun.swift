import TestTools
import VideoCapturing
import WindowPreview
import XTestTools

/// A preview on a screen, with a person in front of it who sees pixels and types.
final class PreviewRun {
    let client: XClient
    let preview: WindowPreview
    let events: EventList
    /// Its window.
    let window: UInt32

    /// Opens a preview and shows a first frame.
    init(
        _ screen: VirtualScreen, first: VideoFrame, _ change: (inout WindowPreview.Configuration) -> Void = { _ in }
    ) throws {
        client = try XClient(screen)
        let before = try client.topLevelWindows()
        let events = EventList()
        self.events = events
        var configuration = WindowPreview.Configuration(display: screen.name)
        change(&configuration)
        preview = try WindowPreview(configuration: configuration) { events.append($0) }
        preview.consumeFrame(first)
        let preview = preview
        guard eventually({ preview.statistics.framesShown == 1 }) else {
            throw XClient.Failure(description: "the first frame is not shown: \(preview.statistics)")
        }
        window = try client.topLevelWindows().first { !before.contains($0) } ?? 0
        try client.point(atX: 10, y: 10)
    }

    deinit { preview.close() }

    func show(_ frame: VideoFrame) { preview.consumeFrame(frame) }

    /// What is wrong with a part of the screen that is to show `quarters`; nil when nothing is, at the latest after ten
    /// seconds.
    func fault(_ quarters: Quarters, in rect: PixelRect, within tolerance: Int = 3) throws -> String? {
        try quarters.fault(in: rect, within: tolerance) { try client.screenPixels() }
    }

    /// As ``fault(_:in:within:)``, for black around a part of the window.
    func fault(blackAround rect: PixelRect, in outer: PixelRect) throws -> String? {
        try blackFault(around: rect, in: outer) { try client.screenPixels() }
    }

    /// Waits until all keys so far have been obeyed: the answer to a later one has come.
    func fence() throws {
        let count = events.stills.count
        try client.type(Key.s)
        guard eventually({ events.stills.count > count }) else {
            throw XClient.Failure(description: "the window does not hear keys")
        }
    }
}

/// Numbers of X11/keysymdef.h.
enum Key {
    static let f: UInt32 = 0x66
    static let i: UInt32 = 0x69
    static let q: UInt32 = 0x71
    static let s: UInt32 = 0x73
    static let space: UInt32 = 0x20
    static let escape: UInt32 = 0xFF1B
    static let control: UInt32 = 0xFFE3
}
