import CLibXCB
import VideoCapturing
import XDisplay

/// The desktop, monitor or window that was found for a ``ScreenCapturer/Configuration/Target``.
struct ScreenSubject {
    enum Kind {
        case desktop
        case monitor(name: String)
        case window
    }

    let kind: Kind
    /// The root, or the window that is captured.
    let window: xcb_window_t
    /// The name for display: the monitor's name, the window's title.
    let name: String

    var isWindow: Bool { if case .window = kind { true } else { false } }
}

extension XConnection {
    /// Finds the subject of a target.
    func find(_ target: ScreenCapturer.Configuration.Target) throws -> ScreenSubject {
        switch target {
        case .desktop:
            return ScreenSubject(kind: .desktop, window: root, name: "desktop")
        case .monitor(let name):
            let monitor = try findMonitor(name)
            return ScreenSubject(kind: .monitor(name: monitor.name), window: root, name: monitor.name)
        case .window(let id):
            do {
                _ = try geometry(of: id)
            } catch XFailure.refused {
                throw notFound("window", text(of: id), among: try windows().map { "\(text(of: $0.id)) \($0.title)" })
            }
            return ScreenSubject(kind: .window, window: id, name: text(of: id))
        case .windowTitled(let title):
            let windows = try windows()
            let wanted = title.lowercased()
            let match =
                windows.first { $0.title.lowercased() == wanted }
                ?? windows.first { !wanted.isEmpty && $0.title.lowercased().contains(wanted) }
            guard let match else { throw notFound("window", title, among: windows.map(\.title)) }
            return ScreenSubject(kind: .window, window: match.id, name: match.title)
        case .clickedWindow:
            return try clicked()
        }
    }

    private func clicked() throws -> ScreenSubject {
        do throws(XFailure) {
            guard let window = try clickedWindow() else {
                return ScreenSubject(kind: .desktop, window: root, name: "desktop")
            }
            return ScreenSubject(kind: .window, window: window, name: text(of: window))
        } catch {
            switch error {
            case .silent:
                throw CaptureError(
                    .deviceNotFound, operation: "choose a window",
                    message: "No window was clicked within a minute; name one by its title.")
            case .refused:
                throw CaptureError(
                    .deviceBusy, operation: "choose a window",
                    message: "Another program holds the pointer, so no window can be clicked; close its menu, or name "
                        + "the window by its title.")
            case .gone, .stopping: throw error
            }
        }
    }

    func findMonitor(_ name: String) throws -> ScreenDirectory.Monitor {
        let monitors = try monitors()
        let match = monitors.first {
            $0.name.lowercased() == name.lowercased() || (name.lowercased() == "primary" && $0.isPrimary)
        }
        // Without a primary monitor, the first one is used.
        if let match { return match }
        if name.lowercased() == "primary", let first = monitors.first { return first }
        throw notFound("monitor", name, among: monitors.map(\.name))
    }

    private func notFound(_ kind: String, _ name: String, among names: [String]) -> CaptureError {
        let named = names.filter { !$0.isEmpty }
        let hint =
            if let near = nearestName(to: name, in: named) {
                "did you mean \"\(near)\"?"
            } else if named.isEmpty {
                "there is none on this display."
            } else {
                "there is: \(named.prefix(5).joined(separator: ", "))\(named.count > 5 ? ", …" : "")."
            }
        return CaptureError(
            .deviceNotFound, operation: "find the \(kind)", subject: name,
            message: "There is no such \(kind); \(hint)")
    }

    private func text(of window: xcb_window_t) -> String { "0x" + String(window, radix: 16) }
}
