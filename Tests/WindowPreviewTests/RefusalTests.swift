import TestTools
import Testing
import VideoCapturing
import WindowPreview
import XTestTools

extension WindowPreviewTests {
    /// Displays that are not there, and what is wanted of captures.
    @Suite struct RefusalTests {
        private func refusal(_ change: (inout WindowPreview.Configuration) -> Void = { _ in }) -> CaptureError? {
            var configuration = WindowPreview.Configuration()
            change(&configuration)
            do {
                _ = try WindowPreview(configuration: configuration)
                return nil
            } catch {
                return error
            }
        }

        @Test func namesTheVariablesOfADesktop() throws {
            try withEnvironment(["DISPLAY": nil, "WAYLAND_DISPLAY": nil]) {
                let error = try #require(refusal())
                #expect(error.code == .deviceNotFound)
                #expect(error.message.contains("DISPLAY") && error.message.contains("WAYLAND_DISPLAY"), "\(error)")
            }
            try withEnvironment(["DISPLAY": nil, "WAYLAND_DISPLAY": "wayland-7"]) {
                let error = try #require(refusal())
                #expect(error.code == .unavailable)
                #expect(error.subject == "wayland-7")
                #expect(error.message.contains("Xwayland"), "\(error)")
            }
            let screen = try VirtualScreen(width: 40, height: 30)
            try withEnvironment(["DISPLAY": screen.name]) { #expect(refusal() == nil) }
        }

        @Test(arguments: ["", ":", "nonsense", ":7654", "no.such.host.invalid:0", ":99999999999", "a\0b:1"])
        func refusesDisplaysThatAreNone(_ name: String) throws {
            try withEnvironment(["DISPLAY": nil, "WAYLAND_DISPLAY": nil]) {
                let error = try #require(refusal { $0.display = name })
                #expect([.deviceNotFound, .invalidConfiguration, .permissionDenied].contains(error.code), "\(error)")
            }
        }

        @Test func refusesAServerThatHangs() throws {
            let screen = try VirtualScreen(width: 40, height: 30)
            screen.hang()
            defer { screen.resume() }
            #expect(refusal { $0.display = screen.name }?.code == .stalled)
        }

        @Test(arguments: [0, -1, 16384, Int.max]) func refusesSizesThatAreNone(_ side: Int) {
            #expect(refusal { $0.size = PixelSize(width: side, height: 10) }?.code == .invalidConfiguration)
            #expect(refusal { $0.size = PixelSize(width: 10, height: side) }?.code == .invalidConfiguration)
        }

        @Test func refusesADisplayOfFewColors() throws {
            let screen = try VirtualScreen(width: 40, height: 30, depth: 8)
            #expect(refusal { $0.display = screen.name }?.code == .unavailable)
        }

        @Test func wantsWhatItsWindowShows() throws {
            let screen = try VirtualScreen(width: 200, height: 100)
            let wants = WantsList()
            let run = try PreviewRun(screen, first: try Quarters.standard.frame(width: 640, height: 480)) {
                $0.size = PixelSize(width: 80, height: 48)
            }
            run.preview.connectFeedback(wants.feedback)
            #expect(eventually { wants.last?.maximumPixelCount == 64 * 48 })
            #expect(wants.last?.maximumFrameRate == nil)
            try run.client.configure(run.window, PixelRect(x: 0, y: 0, width: 120, height: 90))
            #expect(eventually { wants.last?.maximumPixelCount == 120 * 90 })

            try run.client.setMapped(run.window, false)
            #expect(eventually { wants.last?.maximumFrameRate == 1 })
            let refreshes = wants.refreshes
            try run.client.setMapped(run.window, true)
            #expect(eventually { wants.last?.maximumFrameRate == nil && wants.refreshes == refreshes + 1 })
            try run.client.type(Key.space)
            #expect(eventually { wants.last?.maximumFrameRate == 1 })
        }
    }
}
