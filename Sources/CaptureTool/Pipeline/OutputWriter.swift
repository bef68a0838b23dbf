import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An output that is open.
struct OutputWriter: Sendable {
    enum Kind: Sendable {
        case frames(any FrameWriter)
        case packets(any PacketWriter)
    }

    let name: OutputName
    let kind: Kind
    /// The file that was made for it; nil when it was there before.
    let madeFile: String?

    var bytesWritten: Int64 {
        switch kind {
        case .frames(let writer): writer.bytesWritten
        case .packets(let writer): writer.bytesWritten
        }
    }

    /// The checksum, once the output is finished.
    var digest: String? {
        if case .frames(let writer as MD5Writer) = kind { return writer.digest }
        return nil
    }

    /// Opens all outputs, or none: when one fails, the files that were made for the others are removed again.
    ///
    /// - Parameter rate: what headers with a rate say.
    static func open(
        _ outputs: [OutputName], overwrites: Bool, rate: FrameRate
    ) throws(MediaFileError) -> [OutputWriter] {
        var opened: [OutputWriter] = []
        for output in outputs {
            let path = output.path ?? "-"
            let isNew = path != "-" && access(path, F_OK) != 0
            do {
                let kind: Kind =
                    output.isEncoded
                    ? .packets(try output.format.makePacketWriter(path: path, overwrite: overwrites))
                    : .frames(try output.format.makeFrameWriter(path: path, overwrite: overwrites, rate: rate))
                opened.append(OutputWriter(name: output, kind: kind, madeFile: isNew ? path : nil))
            } catch {
                removeFiles(of: opened)
                throw error
            }
        }
        return opened
    }

    /// Takes back the files of a run that could not begin.
    static func removeFiles(of writers: [OutputWriter]) {
        for case let path? in writers.map(\.madeFile) { unlink(path) }
    }
}
