import VideoCapturing

/// The formats that can be written: an explicit list, chosen by name or by a file's extension.
public enum OutputFormat: String, Sendable, Hashable, CaseIterable {
    /// VP8 in WebM.
    case webm
    /// VP8 in IVF.
    case ivf
    /// I420 with a header: YUV4MPEG2.
    case y4m
    /// Bare I420.
    case yuv
    /// Bare NV12.
    case nv12
    /// Nothing is written.
    case null
    /// A checksum of what would be written.
    case md5

    /// The format of that name; upper and lower case are the same.
    ///
    /// - Throws: `formatUnsupported`, with the name that was probably meant and the list of all.
    public init(name: String) throws(MediaFileError) {
        guard let format = OutputFormat.allCases.first(where: { $0.name == name.lowercased() }) else {
            throw OutputFormat.unknown(name, what: "format", path: nil, known: OutputFormat.allCases.map(\.name))
        }
        self = format
    }

    /// The format that a file's extension stands for; upper and lower case are the same.
    ///
    /// - Throws: `formatUnsupported` for an unknown extension or none.
    public init(path: String) throws(MediaFileError) {
        let known = OutputFormat.allCases.flatMap(\.extensions)
        guard let ending = fileExtension(of: path) else {
            throw MediaFileError(
                .formatUnsupported, operation: "choose a format", path: path,
                message: "The name has no extension that says what to write; use one of "
                    + "\(known.map { ".\($0)" }.joined(separator: ", ")), or name the format.")
        }
        guard let format = OutputFormat.allCases.first(where: { $0.extensions.contains(ending) }) else {
            throw OutputFormat.unknown(ending, what: "extension", path: path, known: known)
        }
        self = format
    }

    /// The name by which the format is chosen.
    public var name: String { rawValue }

    /// The extensions that stand for it, without the dot; the first one is the usual.
    public var extensions: [String] {
        switch self {
        case .yuv: ["yuv", "i420"]
        case .null: []
        case .webm, .ivf, .y4m, .nv12, .md5: [rawValue]
        }
    }

    /// What it is, in a few words.
    public var description: String {
        switch self {
        case .webm: "VP8 in WebM, for browsers and players"
        case .ivf: "VP8 in IVF, with timestamps to the microsecond"
        case .y4m: "I420 pictures with a header (YUV4MPEG2)"
        case .yuv: "bare I420 pictures"
        case .nv12: "bare NV12 pictures"
        case .null: "nothing; to measure"
        case .md5: "the MD5 checksum of the pictures"
        }
    }

    /// Whether it takes encoded packets; see ``makePacketWriter(path:overwrite:)``.
    public var acceptsPackets: Bool {
        switch self {
        case .webm, .ivf, .null, .md5: true
        case .y4m, .yuv, .nv12: false
        }
    }

    /// Whether it takes frames; see ``makeFrameWriter(path:overwrite:timing:maximumDuration:)``. ``null``
    /// and ``md5`` take frames and packets.
    public var acceptsFrames: Bool {
        switch self {
        case .y4m, .yuv, .nv12, .null, .md5: true
        case .webm, .ivf: false
        }
    }

    /// Whether its frames have one rate and no timestamps, so that frames that come irregularly must be repeated and
    /// dropped; see ``FrameTiming``.
    public var hasConstantRate: Bool {
        switch self {
        case .y4m, .yuv, .nv12: true
        case .webm, .ivf, .null, .md5: false
        }
    }

    /// The only pixel format of frames that it takes; nil when it takes any, or packets only.
    public var pixelFormat: PixelFormat? {
        switch self {
        case .y4m, .yuv: .i420
        case .nv12: .nv12
        case .webm, .ivf, .null, .md5: nil
        }
    }

    private static func unknown(_ name: String, what: String, path: String?, known: [String]) -> MediaFileError {
        let guess = nearestName(to: name, in: known).map { " Did you mean \($0)?" } ?? ""
        return MediaFileError(
            .formatUnsupported, operation: "choose a format", path: path,
            message: "No format has the \(what) \(name).\(guess) There are \(known.joined(separator: ", ")).")
    }
}

extension OutputFormat: CustomStringConvertible {}

/// What follows the last dot of the path's last part, in lower case; nil when there is none. The dot of a
/// hidden file does not count.
func fileExtension(of path: String) -> String? {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    let ending = name[name.index(after: dot)...]
    return ending.isEmpty ? nil : ending.lowercased()
}
