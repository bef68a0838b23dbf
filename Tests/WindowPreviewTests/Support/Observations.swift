import TestTools
import VideoCapturing
import WindowPreview
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Quarters {
    /// What is wrong with a part of the screen that is to show them; nil when nothing is, at the latest after ten seconds.
    func fault(in rect: PixelRect, within tolerance: Int, of pixels: () throws -> ScreenPixels) throws -> String? {
        var text: String?
        let isShown = try eventually {
            text = mismatch(self, in: rect, of: try pixels(), tolerance)
            return text == nil
        }
        return isShown ? nil : text
    }
}

/// As `Quarters.fault`, for black around a part of the window, and no black in it.
func blackFault(around rect: PixelRect, in outer: PixelRect, of screen: () throws -> ScreenPixels) throws -> String? {
    var text: String?
    let isBlack = try eventually {
        let pixels = try screen()
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

/// What a preview has asked for. Safe to use from any thread.
final class WantsList: Sendable {
    private let contents = Locked<(wants: [CaptureWants], refreshes: Int)>(([], 0))

    var last: CaptureWants? { contents.withLock { $0.wants.last } }
    var refreshes: Int { contents.withLock { $0.refreshes } }

    var feedback: CaptureFeedback {
        CaptureFeedback(
            onWants: { wants in self.contents.withLock { $0.wants.append(wants) } },
            onRefresh: { self.contents.withLock { $0.refreshes += 1 } })
    }
}

/// Runs `body` with variables of the environment set, or unset where nil.
func withEnvironment(_ variables: [String: String?], _ body: () throws -> Void) throws {
    let before = variables.keys.map { ($0, getenv($0).map { String(cString: $0) }) }
    func set(_ name: String, _ value: String?) {
        if let value { setenv(name, value, 1) } else { unsetenv(name) }
    }
    for (name, value) in variables { set(name, value) }
    defer { for (name, value) in before { set(name, value) } }
    try body()
}
