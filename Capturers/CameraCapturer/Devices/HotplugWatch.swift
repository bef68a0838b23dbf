import V4L2Support

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reports when video nodes appear, disappear or change their permissions: inotify on `/dev`, which works with and
/// without udev, and on udev's folders of links.
///
/// Poll ``descriptor`` for input, then call ``drain()`` and list the cameras again. Make it before the first listing,
/// so that no change is missed. Belongs to one thread.
final class HotplugWatch {
    /// Readable when something has changed.
    let descriptor: Int32
    private let devices: String
    private var devicesWatch: Int32 = -1
    private var events: [UInt8]

    /// Nil when the system has no watches left for this user (`fs.inotify.max_user_instances`), or `/dev` cannot be
    /// watched; list the cameras from time to time then.
    init?(directory: CameraDirectory) {
        devices = directory.places.devices
        events = [UInt8](repeating: 0, count: 8192)
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        devicesWatch = add(devices)
        // The descriptor is closed when the object is destroyed, here too.
        guard devicesWatch >= 0 else { return nil }
        watchLinks()
    }

    deinit { close(descriptor) }

    /// Reads all events. Returns whether any of them may concern a camera.
    @discardableResult
    func drain() -> Bool {
        var concerns = false
        // Bounded, since a program may keep changing files; the descriptor stays readable then.
        for _ in 0..<64 {
            let count = events.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            events.withUnsafeBytes { concerns = concernsCamera($0[..<count]) || concerns }
        }
        // The folders of links disappear with the last camera, and are made again with the next.
        if concerns { watchLinks() }
        return concerns
    }

    private func concernsCamera(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
        let events = UnsafeRawBufferPointer(rebasing: bytes)
        let headSize = MemoryLayout<inotify_event>.size
        var offset = 0
        var concerns = false
        while offset + headSize <= events.count {
            let event = events.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let end = min(events.count, offset + headSize + Int(event.len))
            let name = events[(offset + headSize)..<end].prefix { $0 != 0 }
            // Of the links every event counts, and so does the loss of events or of a watch.
            if event.wd != devicesWatch || name.isEmpty || name.starts(with: "video".utf8)
                || name.elementsEqual("v4l".utf8)
            {
                concerns = true
            }
            offset = end
        }
        return concerns
    }

    private func watchLinks() {
        for folder in ["/v4l", "/v4l/by-id", "/v4l/by-path"] { _ = add(devices + folder) }
    }

    /// Watching a folder twice does no harm: the watch stays one.
    private func add(_ folder: String) -> Int32 {
        let what = IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO
        return inotify_add_watch(descriptor, folder, UInt32(what) | UInt32(IN_ONLYDIR))
    }
}
