public import MediaContainers
public import MediaPublishing

extension OutputEntry {
    /// Every format that `MediaContainers` writes, each by its name and its extensions.
    public static var files: [OutputEntry] { OutputFormat.allCases.map { file($0) } }

    /// Files of one format.
    public static func file(_ format: OutputFormat) -> OutputEntry {
        let needsTarget = format != .null && format != .md5
        return OutputEntry(
            name: format.name, summary: format.description, extensions: format.extensions,
            needsTarget: needsTarget, defaultTarget: format == .md5 ? "-" : nil,
            make: { request in FileOutput(request.target, format: format, overwrites: request.overwrites) })
    }
}
