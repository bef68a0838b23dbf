import PipeWireSupport
public import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension CapturerEntry {
    /// PipeWire nodes, as the source `pipewire-node` of a program.
    public static let pipeWire = CapturerEntry(
        name: "pipewire-node", summary: "A PipeWire node: a shared camera, or the pictures of another program.",
        schemes: ["pipewire"],
        options: [
            OptionDescription(
                "node", .text("NAME"), "the node, by its number, its name or a part of its title",
                default: "the first camera"),
            .size(default: "720p, where the node offers several"),
            .pixelFormat([.nv12, .i420, .argb], default: "nv12; argb where only PNG is written"),
            .frameRate("the maximum number of frames per second, or max", default: "30"),
        ],
        inputOption: "node",
        devices: DeviceDirectory(name: "nodes") { _ in
            let nodes = PipeWireReport().nodes
            return DeviceDirectory.Listing(lines: PipeWireReport().lines, json: nodes.map(\.json))
        },
        check: { [PipeWireReport().finding] },
        make: { request in
            let capture = PipeWireCapturer(try PipeWireCapturer.Configuration(request))
            var source = CatalogSource(capture)
            source.setNoticeHandler = { handler in capture.setEventHandler { handler("\($0)") } }
            source.isDrivenByChanges = true
            return source
        })
}

extension PipeWireCapturer.Configuration {
    /// The configuration that options describe.
    init(_ request: CapturerEntry.Request) throws(OptionError) {
        self.init(node: request.input.map(PipeWireCapturer.Configuration.nodeName))
        if let wanted = try request.size() { size = wanted }
        pixelFormat = try request.pixelFormat() ?? (request.prefersRGB ? .argb : .nv12)
        frameRate = try request.maximumRate()
    }

    /// A node's name without the scheme, of `pipewire:obs`.
    private static func nodeName(_ input: String) -> String {
        CapturerCatalog.scheme(of: input) == "pipewire" ? String(input.dropFirst("pipewire:".count)) : input
    }
}

/// What listings and self-tests report about the PipeWire server.
struct PipeWireReport {
    private(set) var nodes: [PipeWireNode] = []
    private var problem: CaptureError?

    init() {
        do throws(CaptureError) {
            let operation = "list PipeWire nodes"
            let connection = try PipeWireConnection(for: operation)
            try connection.synchronize(
                until: MonotonicClock().now + .seconds(2), interruptedBy: -1, for: operation)
            // A device that this user can open is listed as a camera of V4L2, and not once more.
            nodes = connection.nodes.values.videoSources.filter { node in
                node.device.map { access($0, R_OK | W_OK) != 0 } ?? true
            }
        } catch {
            problem = error
        }
    }

    /// As text; titles come from other programs.
    var lines: [String] {
        if problem != nil { return ["nodes: none; no PipeWire server runs for this user"] }
        if nodes.isEmpty { return ["nodes: none that gives pictures"] }
        return nodes.map { "node \($0.id) \(printable($0.name, limit: 60)): \(printable($0.title, limit: 60))" }
    }

    /// The server, and whether it can be used.
    var finding: Finding {
        let version = PipeWireConnection.libraryVersion
        if let problem {
            return Finding(
                "devices", "PipeWire", .missing, "\(version), but no server runs for this user",
                remedy: printable(problem.message, limit: 500))
        }
        let count = nodes.count == 1 ? "1 node gives pictures" : "\(nodes.count) nodes give pictures"
        return Finding("devices", "PipeWire", .ok, "\(version), \(count)")
    }
}

extension PipeWireNode {
    /// Within a version members may be added, but none changes its meaning.
    fileprivate var json: JSONValue {
        .object([
            ("id", .integer(Int64(id))), ("name", .string(name)), ("title", .string(title)),
            ("class", .string(mediaClass)),
        ])
    }
}
