import CLibXCB
import FrameProcessing
import VideoCapturing
import XDisplay

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A session with an X server: finds the subject, follows it, and makes frames of its changes.
///
/// Confined to the capture thread.
final class ScreenSession {
    let connection: XConnection
    let subject: ScreenSubject
    /// The minimum time between frames; may change at any time. A shorter one counts from the last frame on.
    var frameInterval: Duration {
        didSet { if frameInterval < oldValue { nextDue -= oldValue - frameInterval } }
    }
    private(set) var surface: ScreenSurface

    private let configuration: ScreenCapturer.Configuration
    private let counts: Locked<ScreenCapturer.Statistics>
    private let processor = FrameProcessor()
    private let color: ColorDescription
    private var fetcher: ImageFetcher
    private var picture: EvolvingPicture
    private var region: DamagedRegion
    private var pointer: PointerTracker?
    private var events = ScreenEvents()
    /// Collects the damage; nil where the server does not report it.
    private var damage: (tracker: xcb_damage_damage_t, region: xcb_xfixes_region_t)?
    /// Whether the next frame shows everything.
    private var isWholeDue = true
    private var nextDue = MediaTime.zero
    /// The number of consecutive requests for pixels that were refused.
    private var refusals = 0
    /// Converted pixels of other layouts; nil until needed.
    private var converted: UnsafeMutableBufferPointer<UInt8>?

    /// Connects, and finds the subject.
    ///
    /// - Parameters:
    ///   - configuration: the configuration of the capture.
    ///   - counts: the statistics to update.
    ///   - stopDescriptor: readable once the capture is being stopped, or released while it opens.
    init(
        _ configuration: ScreenCapturer.Configuration, counts: Locked<ScreenCapturer.Statistics>, stopDescriptor: Int32
    ) throws {
        self.configuration = configuration
        self.counts = counts
        color = .assumed(for: configuration.pixelFormat)
        frameInterval = configuration.frameRate.frameInterval
        connection = try XConnection.open(configuration.display)
        // Only the wait for a click is interruptible; a server replies immediately.
        if configuration.target == .clickedWindow { connection.stopDescriptor = stopDescriptor }
        subject = try connection.find(configuration.target)
        ScreenEvents.select(connection, subject)
        if subject.isWindow {
            guard connection.extensions.composite != nil else {
                throw CaptureError(
                    .unavailable, operation: "capture a window", subject: subject.name,
                    message: "The X server has no COMPOSITE, which windows are captured with; capture the region where "
                        + "the window lies.")
            }
            xcb_composite_redirect_window(
                connection.handle, subject.window, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue))
        }
        do {
            surface = try ScreenSurface(connection, subject, region: configuration.region)
        } catch XFailure.refused {
            throw CaptureError(
                .unavailable, operation: "capture a window", subject: subject.name,
                message: "The window is not shown, so it has no pixels; bring it up and try again.")
        }
        let format = VideoFormat(configuration.pixelFormat, width: surface.width, height: surface.height)
        try format.validate()
        fetcher = try ImageFetcher(
            connection, layout: surface.layout, width: surface.width, height: surface.height)
        picture = EvolvingPicture(format)
        region = DamagedRegion(width: surface.width, height: surface.height)
        pointer = configuration.showsPointer ? PointerTracker(connection) : nil
        damage = try ScreenSession.trackDamage(connection, subject)
        connection.stopDescriptor = stopDescriptor
        recordFeatures()
    }

    deinit { converted?.deallocate() }

    /// The current pixel format and size of the frames.
    var format: VideoFormat { picture.format }

    /// Makes the next frame show everything.
    func repaint() {
        isWholeDue = true
        pointer?.reset()
    }

    /// Waits for a change, and for the frame interval; nil when the source must return.
    ///
    /// - Throws: `XFailure` when the server is lost, `CaptureError` when the window is.
    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        while !context.mustReturn {
            try events.read(connection, subject, pointer: &pointer)
            if events.isDestroyed { throw windowClosed() }
            if events.isHidden {
                context.reportInterruption(.other("The window is not shown."))
                connection.wait(seconds: nil, interruptedBy: context.returnDescriptor)
                continue
            }
            let now = context.now
            let query = pointer?.timeToQuery(now)
            let isDue = isWholeDue || events.hasDamage || events.isReshaped || damage == nil || query == .zero
            guard isDue else {
                connection.wait(seconds: query?.seconds, interruptedBy: context.returnDescriptor)
                continue
            }
            guard context.wait(until: nextDue, endsForWants: true) else { break }
            // Events that arrived meanwhile belong to this frame as well.
            try events.read(connection, subject, pointer: &pointer)
            if events.isDestroyed || events.isHidden { continue }
            do {
                if events.isReshaped { try reshape() }
                if let frame = try makeFrame(at: context.now, context) { return frame }
            } catch XFailure.refused(let code) {
                // The window has changed since; its event will follow.
                try handleRefusal(code, context)
            }
        }
        return nil
    }

    // MARK: A frame

    /// Nil when nothing has changed after all.
    private func makeFrame(at now: MediaTime, _ context: FrameContext) throws -> SourceFrame? {
        region.removeAll()
        try takeDamage()
        try pointer?.update(
            connection, in: subject.window, x: surface.windowX, y: surface.windowY, at: now, damage: &region)
        let isWhole = isWholeDue || picture.isEmpty
        if isWhole {
            region.removeAll()
            region.add(region.whole)
        }
        guard !region.isEmpty else { return nil }
        let buffer = try paint(isWhole: isWhole)
        isWholeDue = false
        refusals = 0
        // A missed interval is not made up for; consecutive frames keep theirs exactly.
        nextDue = (now - nextDue > frameInterval ? now : nextDue).advanced(by: frameInterval)
        var frame = SourceFrame(buffer, timestamp: now)
        frame.color = color
        frame.damage = isWhole ? nil : region.parts
        frame.estimatedCaptureDelay = context.now - now
        return frame
    }

    /// Fetches and resets the damage that the server has collected.
    private func takeDamage() throws(XFailure) {
        guard let damage else { return region.add(region.whole) }
        guard events.hasDamage else { return }
        events.hasDamage = false
        xcb_damage_subtract(connection.handle, damage.tracker, 0, damage.region)
        let cookie = xcb_xfixes_fetch_region(connection.handle, damage.region)
        let reply = try connection.reply(cookie.sequence, as: xcb_xfixes_fetch_region_reply_t.self)
        defer { free(reply) }
        let rectangles = UnsafeBufferPointer(
            start: xcb_xfixes_fetch_region_rectangles(reply),
            count: Int(xcb_xfixes_fetch_region_rectangles_length(reply)))
        for rectangle in rectangles {
            region.add(
                PixelRect(
                    x: Int(rectangle.x) - surface.windowX, y: Int(rectangle.y) - surface.windowY,
                    width: Int(rectangle.width), height: Int(rectangle.height)))
        }
    }

    private func paint(isWhole: Bool) throws -> PixelBuffer {
        let parts = region.parts
        var fetchFailure: XFailure?
        var failure: CaptureError?
        do {
            let buffer = try picture.update(isWhole ? nil : parts) { (target) throws(CaptureError) in
                fetchFailure = fetch(parts) { part, pixels in
                    do throws(CaptureError) { try convert(pixels, part, into: target) } catch { failure = error }
                }
                if let failure { throw failure }
                // Thrown to discard the update; the caller gets the original failure.
                if fetchFailure != nil { throw CaptureError(.deviceLost, operation: "fetch pixels", message: "") }
            }
            counts.withLock { counts in
                counts.rectanglesFetched &+= UInt64(parts.count)
                for part in parts { counts.pixelsFetched &+= UInt64(part.width * part.height) }
            }
            return buffer
        } catch {
            isWholeDue = true
            throw fetchFailure ?? error
        }
    }

    private func fetch(
        _ parts: [PixelRect], _ body: (PixelRect, UnsafeMutablePointer<UInt8>) -> Void
    ) -> XFailure? {
        do throws(XFailure) {
            try fetcher.fetch(parts, of: surface.drawable, x: surface.drawableX, y: surface.drawableY, body)
            return nil
        } catch {
            return error
        }
    }

    private func convert(
        _ pixels: UnsafeMutablePointer<UInt8>, _ part: PixelRect, into target: borrowing PixelWriter
    ) throws(CaptureError) {
        if surface.layout.isBGRA { return try place(pixels, part, into: target) }
        if converted == nil { converted = .allocate(capacity: surface.width * surface.height * 4) }
        let bgra = converted!.baseAddress!
        surface.layout.convert(pixels, to: bgra, width: part.width, height: part.height)
        try place(bgra, part, into: target)
    }

    private func place(
        _ bgra: UnsafeMutablePointer<UInt8>, _ part: PixelRect, into target: borrowing PixelWriter
    ) throws(CaptureError) {
        pointer?.draw(into: bgra, of: part)
        let count = part.width * part.height
        if configuration.pixelFormat == .argb {
            // The fourth byte is unused, or the translucency of a window, which a frame of a screen does not have.
            bgra.withMemoryRebound(to: UInt32.self, capacity: count) { words in
                for index in 0..<count { words[index] |= 0xFF00_0000 }
            }
        }
        try processor.convert(
            PixelBuffer.PlaneMemory(base: bgra, byteCount: count * 4, bytesPerRow: part.width * 4), .bgra,
            color: .assumed(for: .bgra), into: part, of: target, color: color)
    }

    // MARK: The subject

    private func reshape() throws {
        let new = try ScreenSurface(connection, subject, region: configuration.region)
        // Only now: a session that is started again must not go on with the old one.
        events.isReshaped = false
        defer { isWholeDue = true }
        let isSame = new.hasShape(of: surface)
        surface = new
        guard !isSame else { return }
        let format = VideoFormat(configuration.pixelFormat, width: new.width, height: new.height)
        try format.validate()
        fetcher = try ImageFetcher(connection, layout: new.layout, width: new.width, height: new.height)
        converted?.deallocate()
        converted = nil
        picture = EvolvingPicture(format)
        region = DamagedRegion(width: new.width, height: new.height)
        pointer?.reset()
        recordFeatures()
    }

    private func handleRefusal(_ code: UInt8, _ context: FrameContext) throws {
        refusals += 1
        isWholeDue = true
        events.isReshaped = true
        guard refusals < 50 else {
            throw CaptureError(
                .system, operation: "fetch pixels", subject: subject.name,
                message: "The X server refuses to give the pixels (error \(code)); another program may protect them.")
        }
        context.wait(until: context.now.advanced(by: .milliseconds(20)))
    }

    private func windowClosed() -> CaptureError {
        CaptureError(
            .deviceLost, operation: "capture a window", subject: subject.name,
            message: "The window was closed; what came before is complete.")
    }

    private func recordFeatures() {
        counts.withLock { counts in
            counts.usesSharedMemory = fetcher.usesSharedMemory
            counts.usesDamage = damage != nil
        }
    }

    private static func trackDamage(
        _ connection: XConnection, _ subject: ScreenSubject
    ) throws(XFailure) -> (tracker: xcb_damage_damage_t, region: xcb_xfixes_region_t)? {
        guard connection.extensions.damage != nil, connection.extensions.xfixes != nil else { return nil }
        let tracker = xcb_generate_id(connection.handle)
        let region = xcb_generate_id(connection.handle)
        xcb_xfixes_create_region(connection.handle, region, 0, nil)
        let cookie = xcb_damage_create_checked(
            connection.handle, tracker, subject.window, UInt8(XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY.rawValue))
        do {
            try connection.check(cookie)
        } catch .refused {
            return nil
        }
        return (tracker, region)
    }
}
