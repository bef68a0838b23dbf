internal import CPipeWire
internal import CaptureCore

/// A node of a PipeWire server: a camera, a screen cast, another program's stream.
package struct PipeWireNode: Sendable, Hashable {
    /// The number of the node, which the server gives to another one later.
    package var id: UInt32
    /// A number that is not given again while the server runs; nil for servers before 0.3.44.
    package var serial: String?
    /// The name for programs, such as `v4l2_input.pci-0000_00_14.0`.
    package var name: String
    /// The name for people.
    package var title: String
    /// What it is, such as `Video/Source`.
    package var mediaClass: String
    /// The V4L2 device whose pictures it gives, such as `/dev/video0`; nil for other nodes.
    package var device: String?

    init(id: UInt32, _ properties: UnsafePointer<spa_dict>) {
        func value(_ key: String) -> String? { spa_dict_lookup(properties, key).map { String(cString: $0) } }
        self.id = id
        serial = value("object.serial")
        name = value("node.name") ?? ""
        title = value("node.description") ?? value("node.nick") ?? name
        mediaClass = value("media.class") ?? ""
        let path = value("object.path") ?? ""
        device = path.hasPrefix("v4l2:/") ? String(path.dropFirst("v4l2:".count)) : nil
    }

    /// Whether it gives pictures.
    package var isVideoSource: Bool { mediaClass == "Video/Source" || mediaClass == "Stream/Output/Video" }
}

extension Sequence<PipeWireNode> {
    /// Those that give pictures, in the order of their numbers.
    package var videoSources: [PipeWireNode] { filter(\.isVideoSource).sorted { $0.id < $1.id } }

    /// The source of pictures with this number or name, or else the first whose title contains the text; not
    /// case-sensitive. Without a text the first camera, or else the first of all.
    package func videoSource(_ text: String?) -> PipeWireNode? {
        let all = videoSources
        guard let text, !text.isEmpty else { return all.first { $0.mediaClass == "Video/Source" } ?? all.first }
        if let id = parseDigits(text, as: UInt32.self), let node = all.first(where: { $0.id == id }) { return node }
        let wanted = text.lowercased()
        return all.first { $0.name == text } ?? all.first { $0.name.lowercased() == wanted }
            ?? all.first { $0.title.lowercased().contains(wanted) }
    }
}
