import VideoCapturing
import WindowPreview
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

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
        var text: String?
        let isShown = try eventually {
            text = mismatch(quarters, in: rect, of: try client.screenPixels(), tolerance)
            return text == nil
        }
        return isShown ? nil : text
    }

    /// As ``fault(_:in:within:)``, for black around a part of the window.
    func fault(blackAround rect: PixelRect, in outer: PixelRect) throws -> String? {
        var text: String?
        let isBlack = try eventually {
            let pixels = try client.screenPixels()
            text = nil
            for y in outer.y..<outer.y + outer.height {
                for x in outer.x..<outer.x + outer.width {
                    let isInside =
                        x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height
                    if (pixels[x, y] == 0) == isInside { text = "(\(x), \(y)) is \(String(pixels[x, y], radix: 16))" }
                }
            }
            return text == nil
        }
        return isBlack ? nil : text
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

/// The middles of the quarters, and the pixels at the edges.
private func mismatch(_ quarters: Quarters, in rect: PixelRect, of pixels: ScreenPixels, _ tolerance: Int) -> String? {
    for isBottom in [false, true] {
        for isRight in [false, true] {
            let wanted = quarters[isRight, isBottom]
            let middle = (
                rect.x + rect.width * (isRight ? 3 : 1) / 4, rect.y + rect.height * (isBottom ? 3 : 1) / 4
            )
            let corner = (
                isRight ? rect.x + rect.width - 1 : rect.x, isBottom ? rect.y + rect.height - 1 : rect.y
            )
            for (x, y) in [middle, corner] {
                let found = pixels[x, y]
                let isNear = [16, 8, 0].allSatisfy { shift in
                    abs(Int(found >> UInt32(shift) & 255) - Int(wanted >> UInt32(shift) & 255)) <= tolerance
                }
                if !isNear {
                    return "(\(x), \(y)) is \(String(found, radix: 16)) in place of \(String(wanted, radix: 16))"
                }
            }
        }
    }
    return nil
}

/// The events of a preview, in order. Safe to use from any thread.
final class EventList: Sendable {
    private let list = Locked<[WindowPreview.Event]>([])

    func append(_ event: WindowPreview.Event) { list.withLock { $0.append(event) } }

    var all: [WindowPreview.Event] { list.withLock { $0 } }

    var stills: [VideoFrame] {
        all.compactMap { if case .still(let frame) = $0 { frame } else { nil } }
    }

    /// All but the stills, which serve as fences.
    var names: [String] {
        all.compactMap { event in
            switch event {
            case .paused(let isOn): "paused \(isOn)"
            case .fullScreen(let isOn): "fullScreen \(isOn)"
            case .statistics(let isOn): "statistics \(isOn)"
            case .still: nil
            case .quit: "quit"
            case .closed: "closed"
            case .failed(let error): "failed \(error.code)"
            }
        }
    }

    func wait(for name: String) -> Bool { eventually { names.contains(name) } }
}

/// Looks each two milliseconds until `condition` holds; false when it does not within ten seconds.
func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    let end = MonotonicClock().now.advanced(by: .seconds(10))
    while try !condition() {
        guard MonotonicClock().now < end else { return false }
        usleep(2000)
    }
    return true
}
