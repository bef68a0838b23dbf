import VideoCapturing

extension CapturerEntry {
    /// This entry of V4L2 cameras, extended by the cameras of libcamera: in one list, under one name, each camera once.
    ///
    /// ```swift
    /// let catalog = CapturerCatalog([.camera.addingLibcamera()])
    /// ```
    /// A device that is named is looked for among the cameras of libcamera, unless it is a path or has the scheme `v4l2`.
    /// Without a name the first V4L2 camera is used, or the first one of libcamera on a machine without V4L2 cameras. The scheme
    /// `libcamera` stands for the latter: `libcamera:imx708`.
    public func addingLibcamera() -> CapturerEntry {
        let base = self
        var entry = self
        entry.summary = "A camera, of V4L2 or libcamera: NV12 at the best frame rate that it has for the size."
        entry.schemes.append("libcamera")
        if let devices {
            entry.devices?.list = { values in try CombinedCameras.list(values, devices) }
        }
        entry.check = { CombinedCameras.findings(base.check?() ?? []) }
        entry.make = { request in
            switch try CombinedCameras.choice(request.input, base.devices) {
            case .other: return try base.make(request)
            case .libcamera(let name): return try CombinedCameras.source(request, name)
            }
        }
        return entry
    }
}

/// The cameras of two libraries as one list.
private enum CombinedCameras {
    enum Choice {
        /// The entry that was extended.
        case other
        /// A camera of libcamera; nil for the first.
        case libcamera(String?)
    }

    private static let scheme = "libcamera"

    static func choice(_ input: String?, _ others: DeviceDirectory?) throws -> Choice {
        guard let input else {
            let hasOther = (try? others?.list(OptionValues()))?.json.isEmpty == false
            return hasOther || cameras().isEmpty ? .other : .libcamera(nil)
        }
        if CapturerCatalog.scheme(of: input) == scheme {
            let name = String(input.dropFirst(scheme.count + 1))
            return .libcamera(name.isEmpty ? nil : name)
        }
        let isOther = input.hasPrefix("/dev/") || CapturerCatalog.scheme(of: input) == "v4l2"
        return !isOther && isKnown(input) ? .libcamera(input) : .other
    }

    static func source(_ request: CapturerEntry.Request, _ name: String?) throws -> CatalogSource {
        if let format = request.options["capture-format"] {
            throw OptionError(
                "capture-format", format, "applies to V4L2 cameras; leave it out for a camera of libcamera.")
        }
        var configuration = LibcameraCapturer.Configuration(
            device: name, preset: try request.size() ?? .vga640x480,
            desiredFrameRate: try request.frameRate(default: 30) ?? 1000)
        for text in request.options.all("control") {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
                throw OptionError(
                    "control", text,
                    "give NAME=VALUE, as in Brightness=0.2; capturer-demo list --controls shows the names.")
            }
            configuration.controls.append(.init(name: String(parts[0]), value: String(parts[1])))
        }
        let camera = LibcameraCapturer(configuration)
        var source = CatalogSource(camera)
        source.setNoticeHandler = { camera.setNoticeHandler($0) }
        if request.options.contains("explain") {
            source.explanation = {
                [camera.device.map { "camera      \($0)" }, camera.mode.map { "negotiated  \($0)" }].compactMap { $0 }
            }
        }
        source.isInputAtFault = { camera.device == nil }
        return source
    }

    static func list(_ values: OptionValues, _ others: DeviceDirectory) throws -> DeviceDirectory.Listing {
        if let named = values["device"] {
            guard case .libcamera(let name) = try choice(named, nil) else { return try others.list(values) }
            return listing([try LibcameraDevice.find(name, in: try LibcameraDevice.cameras())], values)
        }
        let ours = cameras()
        guard !ours.isEmpty else { return try others.list(values) }
        var combined: DeviceDirectory.Listing
        do {
            combined = try others.list(values)
        } catch let error as CaptureError where error.code == .deviceNotFound {
            combined = DeviceDirectory.Listing(lines: [], json: [])
        }
        // Without a camera the lines say only that.
        if combined.json.isEmpty { combined.lines = [] }
        let more = listing(ours, values)
        combined.lines += (combined.lines.isEmpty ? [] : [""]) + more.lines
        combined.json += more.json
        return combined
    }

    private static func listing(_ cameras: [LibcameraDevice], _ values: OptionValues) -> DeviceDirectory.Listing {
        var result = DeviceDirectory.Listing(lines: [], json: [])
        for camera in cameras {
            var members: [(name: String, value: JSONValue)] = [
                ("id", .string(camera.id)), ("name", .string(camera.name)), ("library", .string(scheme)),
            ]
            result.lines.append("libcamera:\(printable(camera.id, limit: 90)): \(printable(camera.name, limit: 40))")
            if let location = camera.location {
                result.lines.append("  location  \(location.rawValue)")
                members.append(("location", .string(location.rawValue)))
            }
            if values.contains("modes") || values.contains("controls") {
                do throws(CaptureError) {
                    let details = try LibcameraDetails(camera)
                    if values.contains("modes") {
                        result.lines += ["  modes"] + details.formats.map { "    \($0)" }
                        members.append(("formats", .array(details.formats.map { .string($0) })))
                    }
                    if values.contains("controls") {
                        result.lines += ["  controls"] + details.controls.map { "    \($0)" }
                        members.append(("controls", .array(details.controls.map { .string("\($0)") })))
                    }
                } catch {
                    result.lines.append("  " + printable("\(error)", limit: 1000))
                }
            }
            result.json.append(.object(members))
        }
        return result
    }

    /// The findings of the self-test. That there is no V4L2 camera is no fault where libcamera has one.
    static func findings(_ others: [Finding]) -> [Finding] {
        guard let version = LibcameraDevice.libraryVersion else {
            return others + [
                Finding(
                    "libraries", "libcamera", .missing, "built without",
                    remedy: "Install libcamera-dev and build again to use cameras of the Raspberry Pi.")
            ]
        }
        let ours = cameras().map { Finding("devices", printable($0.id, limit: 60), .ok, printable($0.name, limit: 40)) }
        let kept = ours.isEmpty ? others : others.filter { $0.topic != "devices" || $0.state == .ok }
        return kept + [Finding("libraries", "libcamera", .ok, version)] + ours
    }

    private static func cameras() -> [LibcameraDevice] { (try? LibcameraDevice.cameras()) ?? [] }

    /// Whether libcamera has a camera, or several, of this name.
    private static func isKnown(_ name: String) -> Bool {
        do throws(CaptureError) {
            _ = try LibcameraDevice.find(name, in: cameras())
            return true
        } catch {
            return error.code == .invalidConfiguration && !cameras().isEmpty
        }
    }
}
