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
    /// How windows begin and end, with other outputs beside them.
    @Suite struct LifeTests {
        private let place = PixelRect(x: 0, y: 0, width: 64, height: 48)

        @Test func closesOneOfTwoWindows() throws {
            let screen = try VirtualScreen(width: 200, height: 100)
            let first = try PreviewRun(screen, first: try Quarters.standard.frame())
            let second = try PreviewRun(screen, first: try Quarters.standard.rotated.frame())
            let aside = PixelRect(x: 100, y: 20, width: 64, height: 48)
            try second.client.configure(second.window, aside)
            #expect(try first.fault(.standard, in: place) == nil)
            #expect(try first.fault(Quarters.standard.rotated, in: aside) == nil)

            try first.client.askToClose(first.window)
            #expect(first.events.wait(for: "closed"))
            #expect(!first.preview.isOpen)
            #expect(try !second.client.topLevelWindows().contains(first.window))
            second.show(try Quarters.plain(0x884422).frame())
            #expect(try second.fault(.plain(0x884422), in: aside) == nil)
            #expect(second.events.names.isEmpty)
        }

        @Test func endsAloneWhenItIsClosed() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let publishing = try Publishing(screen)
            try publishing.client.askToClose(publishing.window)
            #expect(publishing.events.wait(for: "closed"))
            try publishing.expectTheOtherGoesOn()
            #expect(publishing.events.names == ["closed"])
        }

        @Test func endsAloneWhenTheServerIsKilled() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let publishing = try Publishing(screen)
            let descriptors = openDescriptors()
            screen.crash()
            #expect(publishing.events.wait(for: "failed deviceLost"))
            try publishing.expectTheOtherGoesOn()
            #expect(publishing.events.names == ["failed deviceLost"])
            #expect(eventually { openDescriptors() < descriptors })
            guard case .failed(let error)? = publishing.events.all.last else { return }
            #expect(error.subject == screen.name)

            try screen.restart()
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            #expect(try run.fault(.standard, in: place) == nil)
        }

        /// As `xkill` does, and a server that throws its clients out.
        @Test func endsWhenItsConnectionIsClosed() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            try run.client.killOwner(of: run.window)
            #expect(run.events.wait(for: "failed deviceLost"))
        }

        @Test func neverDelaysTheCapture() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            #expect(try run.fault(.standard, in: place) == nil)
            screen.hang()
            defer { screen.resume() }
            let began = MonotonicClock().now
            for color in 1...1000 as ClosedRange<UInt32> { run.show(try Quarters.plain(color).frame()) }
            run.show(try Quarters.plain(0x446688).frame())
            // A call that waited for the server would never return.
            #expect(MonotonicClock().now - began < .seconds(60))
            screen.resume()
            #expect(try run.fault(.plain(0x446688), in: place) == nil)
            let statistics = run.preview.statistics
            #expect(statistics.framesReceived == 1002)
            #expect(statistics.framesReplaced >= 990)
            #expect(statistics.framesShown + statistics.framesReplaced == 1002)
        }

        @Test func closesWhileTheServerHangs() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            screen.hang()
            defer { screen.resume() }
            run.show(try Quarters.plain(0x446688).frame())
            run.preview.close()
            #expect(!run.preview.isOpen)
        }

        @Test func drawsNothingWhenNothingHasChanged() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            run.show(try Quarters.standard.frame(damage: []))
            #expect(eventually { run.preview.statistics.framesUnchanged == 1 })
            #expect(run.preview.statistics.framesShown == 1)
            // Other orientation or size is a change, whatever the damage says.
            run.show(try Quarters.standard.frame(orientation: .down, damage: []))
            #expect(try run.fault(Quarters.standard.turned(by: .down), in: place) == nil)
            run.show(
                try Quarters.plain(0x224466).frame(
                    orientation: .down, damage: [PixelRect(x: 0, y: 0, width: 64, height: 48)]))
            #expect(try run.fault(.plain(0x224466), in: place) == nil)
        }

        @Test func keepsThePictureWhenAFrameIsDamaged() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            let garbage: [UInt8] = [0xFF, 0xD8, 0xFF, 0xC4, 1, 2, 3, 4, 5, 6, 7, 8]
            let buffer = try garbage.withUnsafeBytes {
                try PixelBuffer.compressed($0, as: .mjpeg, width: 64, height: 48)
            }
            run.show(VideoFrame(buffer: buffer, timestamp: MonotonicClock().now))
            #expect(eventually { run.preview.statistics.framesFailed == 1 })
            #expect(try run.fault(.standard, in: place) == nil)
            run.show(try Quarters.standard.rotated.frame())
            #expect(try run.fault(Quarters.standard.rotated, in: place) == nil)
        }

        /// One that would be smaller, of which nothing must be taken for the picture that is shown.
        @Test(arguments: [[], ["-extension", "MIT-SHM"]])
        func keepsThePictureWhenADamagedFrameHasAnotherSize(_ options: [String]) throws {
            let screen = try VirtualScreen(width: 320, height: 240, options: options)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame(width: 320, height: 240))
            let whole = PixelRect(x: 0, y: 0, width: 320, height: 240)
            #expect(try run.fault(.standard, in: whole) == nil)
            let garbage: [UInt8] = [0xFF, 0xD8, 0xFF, 0xC4, 1, 2, 3, 4, 5, 6, 7, 8]
            let buffer = try garbage.withUnsafeBytes {
                try PixelBuffer.compressed($0, as: .mjpeg, width: 2, height: 400)
            }
            run.show(VideoFrame(buffer: buffer, timestamp: MonotonicClock().now))
            #expect(eventually { run.preview.statistics.framesFailed == 1 })
            let cover = try run.client.cover(whole)
            try run.client.setMapped(cover, false)
            #expect(try run.fault(.standard, in: whole) == nil)
            // Damage says what differs from the frame that was not shown.
            run.show(try Quarters.standard.rotated.frame(width: 320, height: 240, damage: []))
            #expect(try run.fault(Quarters.standard.rotated, in: whole) == nil)
        }

        @Test func showsAnySequenceOfSizesAndFormats() throws {
            let screen = try VirtualScreen(width: 400, height: 300)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            var random = SystemRandomNumberGenerator()
            let formats = PixelFormat.allCases.filter { !$0.isCompressed }
            for _ in 1...40 {
                if Int.random(in: 0..<4, using: &random) == 0 {
                    let size = (Int.random(in: 1...400, using: &random), Int.random(in: 1...300, using: &random))
                    try run.client.configure(run.window, PixelRect(x: 0, y: 0, width: size.0, height: size.1))
                }
                run.show(
                    try Quarters.standard.frame(
                        formats.randomElement(using: &random)!, width: 4 * Int.random(in: 1...100, using: &random),
                        height: 4 * Int.random(in: 1...100, using: &random),
                        orientation: VideoOrientation.allCases.randomElement(using: &random)!,
                        isMirrored: Bool.random(using: &random)))
            }
            try run.client.configure(run.window, PixelRect(x: 0, y: 0, width: 64, height: 48))
            run.show(try Quarters.standard.frame())
            #expect(try run.fault(.standard, in: place) == nil)
            #expect(run.preview.statistics.framesFailed == 0)
            #expect(run.events.names.isEmpty)
        }

        @Test func closesFromItsOwnHandler() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let box = Locked<WindowPreview?>(nil)
            let hasClosed = Locked(false)
            let preview = try WindowPreview(configuration: WindowPreview.Configuration(display: screen.name)) { event in
                guard case .quit = event else { return }
                box.withLock { $0 }?.close()
                hasClosed.withLock { $0 = true }
            }
            box.withLock { $0 = preview }
            defer { box.withLock { $0 = nil } }
            preview.consumeFrame(try Quarters.standard.frame())
            #expect(eventually { preview.statistics.framesShown == 1 })
            let client = try XClient(screen)
            try client.point(atX: 10, y: 10)
            try client.type(Key.q)
            #expect(eventually { hasClosed.withLock { $0 } && !preview.isOpen })
            #expect(try eventually { try client.topLevelWindows().isEmpty })
        }

        @Test func drawsNothingWhileItIsHidden() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            let run = try PreviewRun(screen, first: try Quarters.standard.frame())
            let cover = try run.client.cover(PixelRect(x: 0, y: 0, width: 100, height: 80))
            let wants = Locked(CaptureWants())
            run.preview.connectFeedback(CaptureFeedback(onWants: { new in wants.withLock { $0 = new } }, onRefresh: {}))
            #expect(eventually { wants.withLock { $0.maximumFrameRate } == 1 })
            for color: UInt32 in [0x800000, 0x008000] { run.show(try Quarters.plain(color).frame()) }
            #expect(run.preview.statistics.framesShown == 1)
            try run.client.setMapped(cover, false)
            #expect(try run.fault(.plain(0x008000), in: place) == nil)
            #expect(run.preview.statistics.framesShown == 2)
        }

        @Test func leavesNothingBehind() throws {
            let screen = try VirtualScreen(width: 100, height: 80)
            func once() throws {
                let run = try PreviewRun(screen, first: try Quarters.standard.frame())
                #expect(try run.fault(.standard, in: place) == nil)
            }
            try once()
            let (files, running) = (openDescriptors(), threads())
            for _ in 1...20 { try once() }
            #expect(eventually { openDescriptors() <= files && threads() <= running })
            #expect(eventually { sharedMemorySegments() == 0 && sharedMappings() == 0 })
        }
    }
}

/// A capture with a window and another output.
private final class Publishing {
    let client: XClient
    let events = EventList()
    let window: UInt32
    private let capture = PushCapturer(format: .nv12(width: 64, height: 48))
    private let publisher: VideoPublisher
    private let other = FrameCount()

    init(_ screen: VirtualScreen) throws {
        publisher = VideoPublisher(capture)
        client = try XClient(screen)
        let events = events
        let preview = try WindowPreview(configuration: WindowPreview.Configuration(display: screen.name)) {
            events.append($0)
        }
        // Nobody but the publisher holds the preview.
        try preview.attach(to: publisher)
        try publisher.add(other, name: "other")
        try publisher.start()
        capture.push(try Quarters.standard.frame())
        guard eventually({ preview.statistics.framesShown == 1 }) else {
            throw XClient.Failure(description: "the first frame is not shown")
        }
        window = try client.topLevelWindows().last ?? 0
    }

    deinit { publisher.close() }

    /// The preview has left, and frames come to the other as before.
    func expectTheOtherGoesOn() throws {
        #expect(publisher.statistics.consumers.map(\.name) == ["other"])
        let count = other.count
        capture.push(try Quarters.standard.frame())
        #expect(eventually { other.count > count })
        #expect(publisher.capture.isCaptureStarted)
    }
}

final class FrameCount: VideoCaptureConsumer {
    private let frames = Locked(0)
    var count: Int { frames.withLock { $0 } }
    func consumeFrame(_ frame: VideoFrame) { frames.withLock { $0 += 1 } }
}
