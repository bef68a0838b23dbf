import CLibAV
import FFmpegSupport
import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Where a muxer writes to, and in which container.
struct OutputTarget: @unchecked Sendable {
    /// How the bytes get there.
    enum Kind {
        /// One file, pipe or standard output, which is written by `OutputFile`.
        case file
        /// Several files, which the library opens itself: HLS.
        case files
        /// A protocol of the library.
        case network
    }

    /// The path, or the URL with its secrets.
    let url: String
    /// The path, or the URL without its secrets: for errors and logs.
    let name: String
    let kind: Kind
    /// The library's description of the container, which lies in constant memory.
    let container: UnsafePointer<AVOutputFormat>
    /// Options of the container and the protocol, beneath those of the user.
    let options: [String: String]

    /// - Parameters:
    ///   - url: a path, `-`, or a URL.
    ///   - format: the library's name of a container; nil for that of the scheme or the extension.
    /// - Throws: `formatUnsupported` for an unknown container or scheme.
    init(_ url: String, format: String?) throws(MediaFileError) {
        _ = FFmpegLibrary.prepared
        let scheme = OutputTarget.scheme(of: url)
        let isFile = scheme == nil || scheme == "file"
        let path = scheme == "file" ? String(url.dropFirst("file://".count)) : url
        name = isFile ? path : maskingSecrets(inURL: url)
        guard !url.utf8.contains(0), !path.isEmpty else {
            throw .muxing(.formatUnsupported, "open the output", name, "Name a file or a URL, without null characters.")
        }
        container = try OutputTarget.container(format ?? scheme.flatMap { OutputTarget.containers[$0] }, path, name)
        let containerName = String(cString: container.pointee.name)
        if let scheme, !isFile {
            guard OutputTarget.canWrite(scheme) else {
                throw .muxing(
                    .formatUnsupported, "open the output", name, "This FFmpeg cannot send to URLs of \(scheme)://.")
            }
            kind = .network
            self.url = url
        } else if container.pointee.flags & AVFMT_NOFILE != 0 {
            kind = .files
            // So that no name is taken for a protocol.
            self.url = path.hasPrefix("/") || path.hasPrefix(".") ? path : "./" + path
        } else {
            kind = .file
            self.url = path
        }
        options = OutputTarget.options(container: containerName, scheme: scheme, isLive: kind == .network)
    }

    /// The container's name in the library.
    var containerName: String { String(cString: container.pointee.name) }

    /// Whether the container is MP4 or one of its kin, which are written in fragments.
    var isFragmented: Bool { OutputTarget.fragmented.contains(containerName) }

    /// Whether the peer calls, and not this side.
    ///
    /// - Parameter options: the user's.
    func isListener(_ options: [String: String]) -> Bool {
        // The library's RTMP calls, whatever an address says.
        guard kind == .network, !url.hasPrefix("rtmp") else { return false }
        let query = url.drop { $0 != "?" }.dropFirst().split(separator: "&")
        return options["mode"] == "listener" || options["listen"].map { $0 != "0" } ?? false
            || query.contains { $0 == "mode=listener" || $0 == "listen" || $0.hasPrefix("listen=") && $0 != "listen=0" }
    }

    /// Whether the packets of about a second are written at once.
    var gathersPackets: Bool { isFragmented || ["matroska", "webm"].contains(containerName) }

    /// Whether the library opens the output itself when the header is written.
    var opensItself: Bool { container.pointee.flags & AVFMT_NOFILE != 0 }

    /// Files that segments of the playlist would replace: `live0.ts`, `live1.ts` … and `live.m3u8.tmp` of `live.m3u8`. Empty
    /// for other outputs.
    var existingSegments: [String] {
        guard containerName == "hls" else { return [] }
        let slash = url.lastIndex(of: "/")
        let folder = slash.map { String(url[...$0]) } ?? ""
        let playlist = slash.map { url[url.index(after: $0)...] } ?? url[...]
        let stem = playlist[..<(playlist.lastIndex(of: ".") ?? playlist.endIndex)]
        guard let directory = opendir(folder.isEmpty ? "." : folder) else { return [] }
        defer { closedir(directory) }
        var found: [String] = []
        while let entry = readdir(directory) {
            let bytes = withUnsafeBytes(of: entry.pointee.d_name) { $0.prefix { $0 != 0 }.map(\.self) }
            let isTemporary = bytes.elementsEqual("\(playlist).tmp".utf8)
            guard isTemporary || OutputTarget.isSegment(bytes[...], of: stem) else { continue }
            found.append(folder + String(decoding: bytes, as: UTF8.self))
        }
        return found
    }

    /// Whether a name is the playlist's without its ending, a number and `.ts`, maybe `.ts.tmp`.
    private static func isSegment(_ name: ArraySlice<UInt8>, of stem: Substring) -> Bool {
        guard name.starts(with: stem.utf8) else { return false }
        let rest = name.dropFirst(stem.utf8.count)
        let ending = rest.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return ending.count < rest.count
            && (ending.elementsEqual(".ts".utf8) || ending.elementsEqual(".ts.tmp".utf8))
    }

    /// The scheme of a URL in lower case; nil for a path.
    static func scheme(of url: String) -> String? {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else { return nil }
        let scheme = url[..<colon]
        let isValid = scheme.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: false
            }
        }
        return scheme.isEmpty || !isValid ? nil : scheme.lowercased()
    }

    /// MP4 and its kin.
    private static let fragmented: Set<String> = ["mp4", "mov", "3gp", "3g2", "ipod", "f4v", "psp"]

    /// The containers of schemes, whose URLs have no extension.
    private static let containers = [
        "rtmp": "flv", "rtmps": "flv", "rtmpt": "flv", "rtmpts": "flv", "rtmpe": "flv", "srt": "mpegts",
        "udp": "mpegts",
        "rist": "mpegts", "tcp": "mpegts", "rtsp": "rtsp", "rtsps": "rtsp", "rtp": "rtp", "icecast": "webm",
    ]

    private static func container(
        _ name: String?, _ path: String, _ shown: String
    ) throws(MediaFileError) -> UnsafePointer<AVOutputFormat> {
        if let name {
            if let found = av_guess_format(name, nil, nil) { return found }
            throw .muxing(.formatUnsupported, "open the output", shown, "This FFmpeg has no container named \(name).")
        }
        // The extension of a URL's path.
        let file = scheme(of: path) == nil ? path : String(path.prefix { $0 != "?" && $0 != "#" })
        if let found = av_guess_format(nil, file, nil) { return found }
        throw .muxing(
            .formatUnsupported, "open the output", shown,
            "The name has no extension that says what to write, such as .mp4 or .mkv; name the container.")
    }

    private static func canWrite(_ scheme: String) -> Bool {
        // A scheme of a container, such as RTSP, is no protocol.
        if containers[scheme] == scheme || scheme == "rtsps" { return true }
        var state: UnsafeMutableRawPointer?
        while let protocolName = avio_enum_protocols(&state, 1) {
            if String(cString: protocolName) == scheme { return true }
        }
        return false
    }

    private static func options(container: String, scheme: String?, isLive: Bool) -> [String: String] {
        var options: [String: String] = [:]
        switch container {
        case let name where fragmented.contains(name):
            // A process that is killed loses the open fragment: a second, or what is between two key frames when that is
            // shorter.
            // The header waits for the first fragment, since it says where each track begins.
            options["movflags"] = "+frag_keyframe+empty_moov+delay_moov+default_base_moof"
            options["frag_duration"] = "1000000"
        case "matroska", "webm":
            if isLive { options["live"] = "1" }
            options["cluster_time_limit"] = "1000"
        case "flv" where isLive:
            options["flvflags"] = "no_duration_filesize"
        case "hls":
            // All segments stay in the playlist, since it is a recording as well; see `FFmpegMuxer.Configuration.keptSegments`.
            options["hls_list_size"] = "0"
            options["hls_playlist_type"] = "event"
            // A playlist is replaced when the new one is complete: on a full disk the old one stays.
            options["hls_flags"] = "independent_segments+temp_file"
        default: break
        }
        // The URL has the key of the stream, which is for the server of that name alone. FFmpeg does not check it by default.
        if scheme == "rtmps" { options["tls_verify"] = "1" }
        // Whole packets of a transport stream in each datagram.
        if scheme == "udp", container == "mpegts" { options["pkt_size"] = "1316" }
        return options
    }
}
