import MediaPublishing
import VideoCapturing

extension StillOutput.Configuration {
    /// Whether the capture's device is set for the stills.
    var isAdjusting: Bool { !bracket.isEmpty || settings.size != nil }

    /// The highest number of stills that ``OutputEntry/stills`` takes; each of their names is checked before the first.
    private static let maximumCount = 100_000

    /// The configuration that the options of ``OutputEntry/stills`` describe.
    init(_ request: OutputEntry.Request) throws(OptionError) {
        self.init()
        let options = request.options
        if let count = try options.count("burst", in: 1...StillOutput.Configuration.maximumCount) { self.count = count }
        bracket = try options.bracket("still-bracket")
        if !bracket.isEmpty {
            guard !options.contains("burst") else {
                throw OptionError(
                    "burst", options["burst"], "the values of --still-bracket are the stills; leave it out.")
            }
            count = bracket.count
        }
        settings.size = try options.size("still-size")
        if let size = settings.size, count > 1 {
            throw OptionError(
                "still-size", "\(size)", "a single still has it; take it without --burst and --still-bracket.")
        }
        interval = try options.time("burst-interval")
        if let interval, !bracket.isEmpty {
            throw OptionError("burst-interval", "\(interval)", "a bracket is taken as fast as it goes; leave it out.")
        }
        if interval != nil, count == 1 {
            throw OptionError(
                "burst-interval", options["burst-interval"],
                "is the time between stills, and there is one; add --burst N, and a name such as shot-%03d.jpg.")
        }
        settings.format = try StillOutput.Configuration.format(request.target)
        if let quality = try options.count("still-quality", in: 1...100) { settings.quality = quality }
        let handlings = Still.Settings.OrientationHandling.allCases.map { (name: $0.rawValue, value: $0) }
        if let handling = try options.choice("still-orientation", handlings) { settings.orientation = handling }
        if let writes = try options.choice("still-exif", [("yes", true), ("no", false)]) {
            settings.writesEXIF = writes
        }
    }

    private static func format(_ path: String) throws(OptionError) -> Still.Settings.Format {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        let ending = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() }
        switch ending {
        case "jpg", "jpeg": return .jpeg
        case "png": return .png
        case "nv12": return .nv12
        default:
            throw OptionError(
                "output", path, "stills are files whose names end in .jpg, .jpeg, .png or .nv12; name one of these.")
        }
    }
}

extension OptionValues {
    /// A bracket: `exposure=-2,0,2` in stops, or the values of a control of the camera, as `gain=0,64,128`.
    fileprivate func bracket(_ name: String) throws(OptionError) -> [CaptureAdjustment] {
        try parsed(name) { (text, option) throws(OptionError) in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let values = parts.count == 2 ? parts[1].split(separator: ",", omittingEmptySubsequences: false) : []
            guard let control = parts.first, !control.isEmpty, (1...100).contains(values.count),
                !values.contains(where: \.isEmpty)
            else {
                throw OptionError(option, text, "give NAME=VALUE,VALUE…, as in exposure=-2,0,2; at most 100 values.")
            }
            guard control.lowercased() == "exposure" else {
                return values.map { .init([.control(name: String(control), value: String($0))]) }
            }
            var shots: [CaptureAdjustment] = []
            for value in values {
                guard let stops = Double(value), abs(stops) <= 20 else {
                    throw OptionError(option, text, "\(value) is not an exposure; give stops, as in exposure=-2,0,2.")
                }
                shots.append(.init([.exposure(stops: stops)]))
            }
            return shots
        } ?? []
    }
}
