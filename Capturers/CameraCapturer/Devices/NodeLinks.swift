/// The links that udev has made to video nodes.
struct NodeLinks {
    private var byID: [String: [String]] = [:]
    private var byPath: [String: [String]] = [:]

    init(_ places: MachinePlaces) {
        byID = NodeLinks.links(in: places.devices + "/v4l/by-id")
        byPath = NodeLinks.links(in: places.devices + "/v4l/by-path")
    }

    func links(to node: VideoNode) -> CameraDevice.Links {
        CameraDevice.Links(byID: byID[node.name] ?? [], byPath: byPath[node.name] ?? [])
    }

    /// The names of links, sorted, by the name of the node.
    private static func links(in folder: String) -> [String: [String]] {
        var links: [String: [String]] = [:]
        for name in FileReading.names(in: folder) ?? [] {
            guard let target = FileReading.target(of: "\(folder)/\(name)") else { continue }
            links[FileReading.name(of: target), default: []].append(name)
        }
        return links
    }
}
