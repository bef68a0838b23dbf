import ScreenCapturer
import Testing
import VideoCapturing
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension ScreenCapturerTests {
    /// Displays that cannot be had: which error, and what the sentence says.
    @Suite struct RefusalTests {
        @Test func namesADisplayThatIsNotThere() throws {
            var configuration = ScreenCapturer.Configuration()
            configuration.display = ":7654"
            let error = try #require(refusal(configuration))
            #expect(error.code == .deviceNotFound)
            #expect(error.description.contains(":7654"), "\(error)")
            #expect { try ScreenDirectory(display: ":7654").monitors() } throws: {
                ($0 as? CaptureError)?.code == .deviceNotFound
            }
        }

        @Test(arguments: ["", ":", "nonsense", ":x", "no.such.host.invalid:0", ":0.77", ":99999999999", "a\0b:1"])
        func survivesNamesThatAreNone(name: String) throws {
            var configuration = ScreenCapturer.Configuration()
            configuration.display = name
            let error = try #require(refusal(configuration))
            #expect([.deviceNotFound, .invalidConfiguration, .permissionDenied].contains(error.code), "\(error)")
        }

        @Test func namesAScreenThatIsNotThere() throws {
            let screen = try VirtualScreen(width: 40, height: 30)
            var configuration = ScreenCapturer.Configuration()
            configuration.display = "\(screen.name).3"
            #expect(refusal(configuration)?.code == .deviceNotFound)
            configuration.display = "\(screen.name).0"
            #expect(refusal(configuration) == nil)
        }

        @Test func isRefusedWithoutTheRightCookie() throws {
            let folder = AuthorityFolder()
            let screen = try VirtualScreen(width: 40, height: 30, authority: folder.file("server", cookie: 7))
            let configuration = ScreenRun.configuration(screen)
            try withEnvironment(["XAUTHORITY": folder.file("wrong", cookie: 8)]) {
                let error = try #require(refusal(configuration))
                #expect(error.code == .permissionDenied)
                #expect(error.description.contains(screen.name), "\(error)")
            }
            try withEnvironment(["XAUTHORITY": folder.path + "/none"]) {
                #expect(refusal(configuration)?.code == .permissionDenied)
                #expect { try ScreenDirectory(display: screen.name).windows() } throws: {
                    ($0 as? CaptureError)?.code == .permissionDenied
                }
            }
            try withEnvironment(["XAUTHORITY": folder.file("server", cookie: 7)]) {
                #expect(refusal(configuration) == nil)
            }
        }

        /// A desktop of today without X has a sentence of its own: the display is there, but not for us.
        @Test func tellsAWaylandSession() throws {
            try withEnvironment(["DISPLAY": nil, "WAYLAND_DISPLAY": "wayland-0"]) {
                let error = try #require(refusal(ScreenCapturer.Configuration()))
                #expect([.deviceNotFound, .unavailable].contains(error.code))
                #expect(error.message.contains("Wayland"), "\(error)")
            }
            try withEnvironment(["DISPLAY": nil, "WAYLAND_DISPLAY": nil]) {
                let error = try #require(refusal(ScreenCapturer.Configuration()))
                #expect(error.code == .deviceNotFound)
                #expect(error.message.contains("DISPLAY"), "\(error)")
            }
        }

        @Test func takesTheDisplayOfTheEnvironment() throws {
            let screen = try VirtualScreen(width: 40, height: 30)
            try withEnvironment(["DISPLAY": screen.name]) {
                #expect(refusal(ScreenCapturer.Configuration()) == nil)
                let monitors = try ScreenDirectory().monitors()
                #expect(monitors.count == 1)
            }
            #expect(ScreenDirectory.displays().contains(screen.name))
        }

        /// What a server without an extension can do is done, and what it cannot is said. Not XFIXES: without it the
        /// server, 21.1, aborts when any client leaves while others are there.
        @Test(arguments: ["DAMAGE", "RANDR", "COMPOSITE", "XTEST", "MIT-SHM"])
        func managesWithout(extension name: String) throws {
            let screen = try VirtualScreen(width: 40, height: 30, options: ["-extension", name])
            let client = try XClient(screen)
            var shown = Picture(width: 40, height: 30, seed: 61)
            let window = try XWindow(client, shown.bounds)
            try window.draw(shown)
            for target in [ScreenCapturer.Configuration.Target.desktop, .window(window.id)] {
                let configuration = ScreenRun.configuration(screen, target)
                if let error = refusal(configuration) {
                    #expect(error.code == .unavailable, "\(error)")
                    #expect(!["XTEST", "MIT-SHM"].contains(name), "\(error)")
                    continue
                }
                let run = try ScreenRun.running(screen, target)
                try window.fill(PixelRect(x: 5, y: 6, width: 7, height: 8), 0xFF99_3311)
                shown.fill(PixelRect(x: 5, y: 6, width: 7, height: 8), 0xFF99_3311)
                #expect(try run.probe.fault(shown) == nil)
            }
        }
    }
}

/// Runs `body` with variables of the environment set, or unset where nil.
private func withEnvironment(_ variables: [String: String?], _ body: () throws -> Void) throws {
    let before = variables.keys.map { ($0, getenv($0).map { String(cString: $0) }) }
    func set(_ name: String, _ value: String?) {
        if let value { setenv(name, value, 1) } else { unsetenv(name) }
    }
    for (name, value) in variables { set(name, value) }
    defer { for (name, value) in before { set(name, value) } }
    try body()
}
