import MediaContainers
import VideoCapturing

extension CapturerEntry {
    /// Files, as the source `file` of a program.
    ///
    /// - Parameters:
    ///   - decoders: the codecs that the program links, such as `VP8Decoder.factory`; for IVF.
    ///   - readers: the readers of formats other than Y4M, IVF and raw frames that the program links.
    public static func file(
        decoders: [VideoDecoderFactory] = [], readers: [FrameReaderFactory] = []
    ) -> CapturerEntry {
        let others = readers.isEmpty ? "as" : "in any format that \(readers.map(\.name).joined(separator: ", ")) reads,"
        var entry = CapturerEntry(
            name: "file", summary: "A video or image file \(others) Y4M, IVF or raw frames.", schemes: ["file"],
            options: fileOptions,
            inputOption: "input",
            make: { request in
                let path = localPath(ofURL: request.input ?? "")
                let capture = FileCapturer(
                    path: path, decoders: decoders, readers: readers, rawFormat: try rawFormat(request, path),
                    playback: try FileCapturer.Playback(request))
                var source = CatalogSource(capture)
                source.isRecording = true
                source.inputPath = path
                source.progress = { capture.progress }
                source.isInputAtFault = { true }
                let notice = capture.control.notice
                source.setNoticeHandler = { handler in notice.withLock { $0 = handler } }
                source.checkOptions = {
                    try checkAgreement(of: request, with: capture.fileFormat, path)
                    if capture.isInterlaced, try request.deinterlaces() {
                        notice.withLock { $0 }("\(path) is interlaced; \(OptionDescription.deinterlacingNotice)")
                    }
                    guard capture.hasSound, !capture.isSoundTaken else { return }
                    let why =
                        if capture.playback.rate != 1 {
                            " at another speed (leave out --rate to keep it)"
                        } else if InputFile.isPipe(path) {
                            ", since a pipe can be read only once (save it as a file to keep it)"
                        } else {
                            ""
                        }
                    let name = path == "-" ? "Standard input" : path
                    notice.withLock { $0 }(
                        "warning: \(name) has sound, which is left out\(why); only its pictures are captured.")
                }
                return source
            })
        entry.mayHaveSound = true
        return entry
    }

    private static let fileOptions = [
        OptionDescription(
            "input", .file, "the file to play, - for standard input, or numbered images: img%03d.png", default: nil),
        .size("the size of raw frames, which a raw file does not state", default: "the file's"),
        OptionDescription(
            "pixel-format", .text("FORMAT"), "the pixel format of raw frames, such as nv12",
            default: "the file's, or by its extension"),
        .frameRate("a lower rate; max for as fast as possible; the rate of raw frames", default: "the file's, or 30"),
        OptionDescription(
            "rate", .text("FACTOR"), "the playback speed: 0.5 is half speed, 2 is double speed", default: "1"),
        .flag("loop", "repeats the file"),
        OptionDescription("start", .text("SECONDS"), "the start position: 60 or 2.5", default: "0"),
        OptionDescription("end", .text("SECONDS"), "the end position", default: "the file's end"), .deinterlace,
    ]

    /// The format of a file without a header; nil when its options say none.
    private static func rawFormat(_ request: CapturerEntry.Request, _ path: String) throws(OptionError) -> VideoFormat?
    {
        let ending = path.split(separator: ".").last.map { $0.lowercased() } ?? ""
        guard let size = try request.size() else {
            guard ["yuv", "i420", "nv12", "raw"].contains(ending) else { return nil }
            throw OptionError("size", nil, "\(path) is a raw file, which does not state its size; give WIDTHxHEIGHT.")
        }
        return VideoFormat(
            try request.pixelFormat() ?? (ending == "nv12" ? .nv12 : .i420), width: size.width, height: size.height,
            estimatedFramesPerSecond: try request.frameRate(default: 30))
    }

    /// Throws for options that contradict the format of the file.
    private static func checkAgreement(
        of request: CapturerEntry.Request, with format: VideoFormat?, _ path: String
    ) throws(OptionError) {
        guard let format else { return }
        func differ(_ option: String, _ own: String) -> OptionError {
            OptionError(option, request.options[option], "\(path) has \(own); leave the option out.")
        }
        if let size = try request.size(), (size.width, size.height) != (format.imageWidth, format.imageHeight) {
            throw OptionError(
                "size", request.options["size"],
                "\(path) has the size \(format.imageWidth)x\(format.imageHeight); for another size of an output write "
                    + "-o FILE,size=\(size).")
        }
        if let pixelFormat = try request.pixelFormat(), pixelFormat != format.pixelFormat {
            throw differ("pixel-format", "the pixel format \(format.pixelFormat)")
        }
        // A lower rate leaves frames out, which the program does.
        if case .frames(let rate) = try request.rate(), let own = format.estimatedFramesPerSecond, rate > own {
            throw OptionError(
                "fps", request.options["fps"],
                "\(path) has the rate \(own), which can only be lowered; leave the option out.")
        }
    }
}

extension FileCapturer.Playback {
    /// The playback that options describe.
    init(_ request: CapturerEntry.Request) throws(OptionError) {
        let rate = try request.rate()
        self.init(pacing: rate == .maximum ? .asFastAsPossible : .realTime)
        if case .frames(let rate) = rate { frameRate = rate }
        if request.options.contains("loop") { plays = nil }
        if let rate = try request.options.parsed("rate", FileCapturer.Playback.parseRate) { self.rate = rate }
        deinterlaces = try request.deinterlaces()
        if let start = try request.options.time("start", allowsZero: true) { self.start = start }
        if let end = try request.options.time("end") {
            guard end > start else {
                throw OptionError("end", request.options["end"], "the end is not after the start; give a later time.")
            }
            self.end = end
        }
    }

    /// A speed: `0.5`, `2`; an `x` may follow.
    private static func parseRate(_ text: String, _ option: String) throws(OptionError) -> Double {
        let digits = text.hasSuffix("x") ? text.dropLast() : text[...]
        guard let tenThousandths = parseDecimal(digits, decimals: 4) else {
            throw OptionError(option, text, "not a speed. Give a number: 0.5 for half speed, 2 for double speed.")
        }
        let rate = Double(tenThousandths) / 10_000
        guard FileCapturer.Playback.rates.contains(rate) else {
            throw OptionError(
                option, text, "out of range; a speed is 0.01 to 100. For as fast as possible, use --fps max.")
        }
        return rate
    }
}

/// The path of a `file:` URL (RFC 8089), or the text itself.
func localPath(ofURL input: String) -> String {
    guard CapturerCatalog.scheme(of: input) == "file" else { return input }
    var path = input.dropFirst("file:".count)
    if path.hasPrefix("//") {
        path = path.dropFirst(2)
        // The part before the path is a host name, which means this machine.
        path = path.firstIndex(of: "/").map { path[$0...] } ?? path
    }
    return percentDecoded(path.utf8)
}
