import MediaContainers
import VideoCapturing

/// Where an output goes and in which format.
///
/// ```
/// capture.webm   by its extension
/// ivf:-          by name, to standard output
/// y4m:/dev/fd/3  by name, to anything that can be written
/// -              WebM to standard output
/// null           nothing is written
/// md5            a checksum of the frames, on standard output
/// ```
public struct OutputName: Sendable, Hashable {
    /// The format.
    public let format: OutputFormat
    /// The file, `-` for standard output; nil for `null`.
    public let path: String?

    /// Makes the name of an output.
    public init(format: OutputFormat, path: String?) {
        self.format = format
        self.path = path
    }

    /// The output that `text` stands for.
    public static func parse(_ text: String) throws(OptionError) -> OutputName {
        switch text {
        case "": throw OptionError("--output", text, "give a file name, - for standard output, null or md5.")
        case "null": return OutputName(format: .null, path: nil)
        case "md5": return OutputName(format: .md5, path: "-")
        case "-": return OutputName(format: .webm, path: "-")
        default: break
        }
        do {
            if let colon = text.firstIndex(of: ":") {
                let name = String(text[..<colon])
                let path = String(text[text.index(after: colon)...])
                let named = OutputFormat.allCases.first { $0.name == name }
                // `photos:today.webm` is a file name; `yuf:-` is a misspelled format.
                if named != nil || path == "-" {
                    let format = try named ?? OutputFormat(name: name)
                    if format == .null { return OutputName(format: .null, path: nil) }
                    guard !path.isEmpty else {
                        throw OptionError(
                            "--output", text, "give a file name after the colon, or - for standard output.")
                    }
                    return OutputName(format: format, path: path)
                }
            }
            guard !text.utf8.contains(0) else {
                throw OptionError("--output", text, "contains a null character, which file names cannot.")
            }
            return OutputName(format: try OutputFormat(path: text), path: text)
        } catch let error as MediaFileError {
            throw OptionError("--output", text, error.message)
        } catch let error as OptionError {
            throw error
        } catch {
            throw OptionError("--output", text, "\(error)")
        }
    }

    /// Whether it goes to standard output.
    public var isStandardOutput: Bool { path == "-" }

    /// The name for messages: the path, or the format's name.
    public var displayName: String {
        switch path {
        case nil: format.name
        case "-": format == .md5 ? "md5" : "standard output"
        case let path?: path
        }
    }
}
