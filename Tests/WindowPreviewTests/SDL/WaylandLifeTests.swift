import SDLPreview
import TestTools
import Testing
import VideoCapturing
import WindowPreview
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension WindowPreviewTests {
    /// How windows by SDL begin and end, with other outputs beside them.
    @Suite struct WaylandLifeTests {
        private let place = PixelRect(x: 0, y: 0, width: 64, height: 48)

        @Test(arguments: [SDLRendering.software, .accelerated])
        func endsAloneWhenTheCompositorIsKilled(_ rendering: SDLRendering) throws {
            let compositor = try Compositor()
            let capture = PushCapturer(format: .nv12(width: 64, height: 48))
            let publisher = VideoPublisher(capture)
            defer { publisher.close() }
            let other = FrameCount()
            var run: WaylandRun? = try WaylandRun(compositor, first: try Quarters.standard.frame(), rendering)
            let second = try WaylandRun(compositor, first: try Quarters.standard.frame(), rendering, title: "test b")
            let events = try #require(run?.events)
            try run?.preview.attach(to: publisher)
            try publisher.add(other, name: "other")
            try publisher.start()
            capture.push(try Quarters.standard.rotated.frame())
            #expect(eventually { other.count == 1 })

            compositor.crash()
            #expect(events.wait(for: "failed deviceLost"))
            #expect(second.events.wait(for: "failed deviceLost"))
            #expect(events.names == ["failed deviceLost"])
            guard case .failed(let error)? = events.all.last else { return }
            #expect(error.subject == "wayland-1")
            #expect(publisher.statistics.consumers.map(\.name) == ["other"])
            capture.push(try Quarters.standard.frame())
            #expect(eventually { other.count == 2 })
            run = nil

            try compositor.restart()
            let again = try WaylandRun(compositor, first: try Quarters.standard.frame(), rendering)
            #expect(try again.fault(.standard, in: place, within: 4) == nil)
        }

        @Test(arguments: [SDLRendering.software, .accelerated])
        func neverDelaysTheCaptureAndClosesWhileTheCompositorHangs(_ rendering: SDLRendering) throws {
            let compositor = try Compositor()
            let run = try WaylandRun(compositor, first: try Quarters.standard.frame(), rendering)
            #expect(try run.fault(.standard, in: place, within: 4) == nil)
            compositor.hang()
            defer { compositor.resume() }
            for color in 1...1000 as ClosedRange<UInt32> { run.show(try Quarters.plain(color).frame()) }
            run.show(try Quarters.plain(0x446688).frame())
            compositor.resume()
            #expect(try run.fault(.plain(0x446688), in: place, within: 4) == nil)
            let statistics = run.preview.statistics
            #expect(statistics.framesReceived == 1002)
            #expect(statistics.framesShown + statistics.framesReplaced == 1002)

            compositor.hang()
            for color in 1...10 as ClosedRange<UInt32> {
                run.show(try Quarters.plain(color).frame())
                #expect(eventually { run.preview.statistics.framesReceived == 1002 + UInt64(color) })
            }
            run.preview.close()
            #expect(!run.preview.isOpen)
        }

        @Test func leavesSignalsToTheProgram() throws {
            // As inherited: a shell has its background processes ignore SIGINT.
            func handlers() -> [UInt] {
                [SIGINT, SIGTERM].map { signal in
                    var action = sigaction()
                    sigaction(signal, nil, &action)
                    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
                }
            }
            let before = handlers()
            let compositor = try Compositor()
            let run = try WaylandRun(compositor, first: try Quarters.standard.frame())
            #expect(handlers() == before)
            _ = run
        }

        @Test func leavesNothingBehind() throws {
            let compositor = try Compositor()
            func once() throws {
                let run = try WaylandRun(compositor, first: try Quarters.standard.frame())
                #expect(try run.fault(.standard, in: place) == nil)
            }
            // What drivers keep for the life of the process is there after some rounds.
            for _ in 1...3 { try once() }
            let (files, running) = (openDescriptors(), threads())
            for _ in 1...10 { try once() }
            #expect(eventually { openDescriptors() <= files && threads() <= running })
        }

        // MARK: Refusals

        private func refusal(
            _ environment: [String: String?], _ backends: [WindowPreview.Backend] = [.sdl], display: String? = nil
        ) throws -> CaptureError? {
            var refusal: CaptureError?
            let nothing: [String: String?] = ["DISPLAY": nil, "WAYLAND_DISPLAY": nil, "SDL_VIDEODRIVER": nil]
            try withEnvironment(nothing.merging(environment) { $1 }) {
                refusal = #expect(throws: CaptureError.self) {
                    try WindowPreview(
                        configuration: WindowPreview.Configuration(display: display, backends: backends))
                }
            }
            return refusal
        }

        @Test(arguments: [[WindowPreview.Backend.sdl], [.x11, .sdl], [.sdl, .x11]])
        func namesTheVariablesOfADesktop(_ backends: [WindowPreview.Backend]) throws {
            let error = try #require(try refusal([:], backends))
            #expect(error.code == .deviceNotFound)
            #expect(error.message.contains("WAYLAND_DISPLAY"), "\(error)")
        }

        @Test func refusesDisplaysThatAreNotThere() throws {
            for backends in [[WindowPreview.Backend.sdl], [.x11, .sdl]] {
                let error = try #require(try refusal(["WAYLAND_DISPLAY": "wayland-77"], backends))
                #expect(error.code == .unavailable)
                #expect(error.subject == "wayland-77")
            }
            #expect(try refusal(["DISPLAY": ":7654"])?.subject == ":7654")
            #expect(try refusal([:], [])?.code == .invalidConfiguration)
            #expect(try refusal(["DISPLAY": ":0"], display: ":7")?.code == .invalidConfiguration)
        }

        /// SDL would take windows that are nowhere for a success.
        @Test(arguments: ["offscreen", "dummy"]) func refusesADriverThatShowsNothing(_ driver: String) throws {
            let compositor = try Compositor()
            let error = try refusal(compositor.environment.merging(["SDL_VIDEODRIVER": driver]) { $1 })
            #expect(error?.code == .unavailable)
            #expect(error?.message.contains(driver) == true, "\(String(describing: error))")
        }

        @Test func choosesTheDisplayThatAnswers() throws {
            let compositor = try Compositor()
            let screen = try VirtualScreen(width: 100, height: 80)
            let client = try XClient(screen)
            let both: [WindowPreview.Backend] = [.x11, .sdl]
            func open(_ display: String?, _ backends: [WindowPreview.Backend]) throws -> WindowPreview {
                var preview: WindowPreview?
                try withEnvironment(compositor.environment.merging(["DISPLAY": display]) { $1 }) {
                    preview = try WindowPreview(
                        configuration: WindowPreview.Configuration(
                            title: "test a", size: PixelSize(width: 64, height: 48), backends: backends))
                }
                return try #require(preview)
            }
            let onX = try open(screen.name, both)
            #expect(try eventually { try client.topLevelWindows().count == 1 })
            #expect(try compositor.windowTitles().isEmpty)
            onX.close()
            // A window is known to the compositor once it has a picture.
            for (display, backends) in [(nil, both), (":7654", both), (screen.name, [.sdl])]
                as [(String?, [WindowPreview.Backend])]
            {
                let preview = try open(display, backends)
                preview.consumeFrame(try Quarters.standard.frame())
                let isShown = try eventually { try compositor.windowTitles() == ["test a"] }
                #expect(isShown, "DISPLAY is \(display ?? "not set")")
                preview.close()
                #expect(try eventually { try compositor.windowTitles().isEmpty })
            }
        }

        // MARK: SDL on X11

        /// Of an X server, whose end would be that of the process. In another process, since SDL cannot be used in it again.
        @Test func survivesTheLossOfAnXServer() async {
            await #expect(processExitsWith: .success) {
                let screen = try VirtualScreen(width: 100, height: 80)
                let client = try XClient(screen)
                setenv("DISPLAY", screen.name, 1)
                unsetenv("WAYLAND_DISPLAY")
                let events = EventList()
                let configuration = WindowPreview.Configuration(backends: [.sdl])
                let preview = try WindowPreview(configuration: configuration) { events.append($0) }
                preview.consumeFrame(try Quarters.standard.frame())
                let found = try eventually { try client.topLevelWindows().count == 1 }
                #expect(found)
                #expect(eventually { preview.statistics.framesShown == 1 })
                // Where the server puts it without a window manager.
                #expect(
                    try eventually {
                        let pixels = try client.screenPixels()
                        return [0xC02030, 0x20A040, 0x3040C0, 0xD0C020].allSatisfy { (color: UInt32) in
                            pixels.words.contains { near($0, color) }
                        }
                    })
                screen.crash()
                preview.consumeFrame(try Quarters.standard.rotated.frame())
                #expect(events.wait(for: "failed deviceLost"))
                #expect(throws: CaptureError.self) { try WindowPreview(configuration: configuration) }
            }
        }
    }
}

private func near(_ one: UInt32, _ other: UInt32) -> Bool {
    [16, 8, 0].allSatisfy { (shift: UInt32) in abs(Int(one >> shift & 255) - Int(other >> shift & 255)) <= 3 }
}
