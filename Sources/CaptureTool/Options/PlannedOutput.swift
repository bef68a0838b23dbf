import MediaPublishing
import VideoCapturing

/// An output of a plan.
struct PlannedOutput: Sendable {
    var entry: OutputEntry
    var request: OutputEntry.Request
    /// What the user wrote: the option, and its value.
    var given: (option: String, text: String)
    /// When a file ends and the next begins; nil for one file.
    var split: SplitOutput.Interval?
    /// What is kept of the files.
    var keep: [SplitOutput.Limit] = []
    /// What its clips have; nil for a recording without triggers.
    var clips: TriggeredOutput.Configuration?
    /// What becomes of the frames for it.
    var frames = MediaPublisher.FrameSettings()
    /// How to encode for it; nil for what applies to all.
    var encoding: EncodingSettings?

    /// Whether it writes lines of text, so that it may share standard output with messages.
    var isText: Bool { entry.defaultTarget == "-" }

    /// Makes the output; it opens nothing yet.
    ///
    /// - Throws: the error of a value.
    func makeOutput() throws(OptionError) -> any MediaOutput {
        let output = try entry.makeOutput(request)
        guard split != nil || clips != nil, isSplit(output) else { return output }
        let make: @Sendable (String) throws -> any MediaOutput = { [entry, request] path in
            var request = request
            request.target = path
            // No file has this name, and one that gets it meanwhile is not ours.
            request.overwrites = false
            return try entry.makeOutput(request)
        }
        do {
            if let clips { return try TriggeredOutput(request.target, configuration: clips, make) }
            guard let split else { return output }
            return try SplitOutput(request.target, every: split, keep: keep, make)
        } catch let error as OptionError {
            throw error
        } catch {
            throw OptionError("output", request.target, "\(error)")
        }
    }

    /// Whether an output is one file, so that several can follow each other; not one that has several, as a playlist.
    func isSplit(_ output: any MediaOutput) -> Bool {
        output.path.map { $0 != "-" } ?? false && !entry.keepsFiles
    }
}

extension CapturePlan {
    /// The outputs, with the options that each of them has.
    static func outputs(
        _ values: OptionValues, _ catalog: ToolCatalog, _ source: CapturerEntry
    ) throws(OptionError) -> [PlannedOutput] {
        var given = values.all("output").map { (option: "output", text: $0, value: $0) }
        let shorthands = catalog.shorthands.filter { values.contains($0.option.name) }
        if given.isEmpty, shorthands.isEmpty {
            // `capture-2.webm` where there is one.
            let isFree = values.contains("force") || !isTaken(catalog.defaultOutput)
            let name = isFree ? catalog.defaultOutput : freeVariant(of: catalog.defaultOutput) ?? catalog.defaultOutput
            given = [("output", name, name)]
        }
        for shorthand in shorthands {
            let name = shorthand.option.name
            for value in values.all(name) { given.append((name, shorthand.prefix + value, value)) }
        }
        var split = try values.parsed("split", PlannedOutput.parseSplit)
        if try values.choice("split-at", [("start", false), ("clock", true)]) ?? false {
            guard case .duration(let time)? = split else {
                throw OptionError("split-at", "clock", "needs a time; add --split 1h.")
            }
            split = .clock(time)
        }
        let keep = try values.parsed("keep", PlannedOutput.parseKeep) ?? []
        let free = try values.parsed("keep-free", PlannedOutput.parseFree)
        let limits = keep + (free.map { [$0] } ?? [])
        let recorder = try RecorderPlan(values)
        let clips = try recorder.map { (recorder) throws(OptionError) in
            try recorder.configuration(split: split, keep: limits, values)
        }
        var outputs: [PlannedOutput] = []
        let isRelative = try MediaPublisher.FrameSettings.relativeSize(values) != nil
        let shared = values.filter { name in
            MediaPublisher.FrameSettings.overlayOptions.contains { $0.name == name } || name == "size" && isRelative
        }
        for (option, text, value) in given {
            let (place, own) = try OutputWords.split(text, catalog)
            let (entry, target) = try resolve(place, catalog)
            try NamesElsewhere.check(own, catalog)
            if PacketPlan.isAsked(own, catalog) {
                throw OptionError(option, value, "codec=copy is for all outputs; write --codec copy.")
            }
            var applying = values.merging(own)
            if PacketPlan.isAsked(values, catalog) { applying["codec"] = own["codec"] }
            // It is about the files of --split then.
            if split != nil || clips != nil { applying["keep"] = own["keep"] }
            let request = OutputEntry.Request(
                target: target, options: applying.filter { name in entry.options.contains { $0.name == name } },
                overwrites: values.contains("force"))
            var output = PlannedOutput(
                entry: entry, request: request, given: (option, value), split: split, keep: limits)
            output.clips = clips
            output.frames = try MediaPublisher.FrameSettings(
                shared.merging(own).filter { name in
                    MediaPublisher.FrameSettings.options.contains { $0.name == name }
                })
            let encoderOptions = OutputWords.encodingOptions(catalog).map(\.name)
            if own.names.contains(where: { encoderOptions.contains($0) }) {
                output.encoding = try EncodingSettings(applying, encoders: catalog.encoders)
            }
            let known = encoderOptions + (MediaPublisher.FrameSettings.options + entry.options).map(\.name)
            if let name = own.names.first(where: { !known.contains($0) }) {
                throw OptionError(option, value, "\(entry.name) has no option \(name).")
            }
            outputs.append(output)
        }
        if !keep.isEmpty, split == nil, clips == nil, !outputs.contains(where: \.entry.keepsFiles) {
            throw OptionError(
                "keep", values["keep"],
                "has no effect without --split, which makes several files, or a playlist such as live.m3u8.")
        }
        if let free = values["keep-free"], split == nil, clips == nil {
            throw OptionError(
                "keep-free", free, "has no effect without --split or --record-on, which make several files.")
        }
        try recorder?.check(outputs, values)
        for (owner, option) in catalog.outputGroups.merged.map({ ($0.owners, $0.option) })
        where option.name != "keep" && values.contains(option.name) && source.option(named: option.name) == nil {
            guard !outputs.contains(where: { $0.entry.options.contains { $0.name == option.name } }) else { continue }
            throw OptionError(
                option.name, nil, "has no effect without an output that has it; add \(advice(owner, catalog)).")
        }
        return outputs
    }

    /// The output that a place stands for.
    ///
    /// - Throws: what to do instead, for one that other programs have; otherwise the error of the catalog.
    private static func resolve(
        _ place: String, _ catalog: ToolCatalog
    ) throws(OptionError) -> (entry: OutputEntry, target: String) {
        if let advice = NamesElsewhere.server(place) { throw OptionError("output", place, advice) }
        do {
            return try catalog.outputs.resolve(place)
        } catch {
            guard let advice = NamesElsewhere.output(place) else { throw error }
            throw OptionError("output", place, advice)
        }
    }

    /// How to add one of several outputs: by a short form where there is one.
    private static func advice(_ owners: [OptionGroup.Owner], _ catalog: ToolCatalog) -> String {
        let entries = catalog.outputs.entries.filter { owners.contains(.output($0.name)) }
        for shorthand in catalog.shorthands {
            guard let (entry, _) = try? catalog.outputs.resolve(shorthand.prefix),
                entries.contains(where: { $0.name == entry.name })
            else { continue }
            return "--\(shorthand.option.name) \(shorthand.option.placeholder)"
        }
        return entries.map { "-o \($0.example)" }.joined(separator: " or ")
    }
}

extension PlannedOutput {
    fileprivate static func parseSplit(_ text: String, _ option: String) throws(OptionError) -> SplitOutput.Interval {
        if let time = parseTime(text), time >= .milliseconds(100) { return .duration(time) }
        if let bytes = parseBytes(text), bytes >= 1000 { return .bytes(bytes) }
        throw OptionError(option, text, "neither a time nor a size. Give 90, 10min or 1h, or 500MB or 1GB.")
    }

    /// Several with commas.
    fileprivate static func parseKeep(_ text: String, _ option: String) throws(OptionError) -> [SplitOutput.Limit] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { (word) throws(OptionError) in
            let word = String(word)
            if let count = parseDigits(word, as: Int.self), count > 0 { return .files(count) }
            if let bytes = parseBytes(word), bytes > 0 { return .bytes(bytes) }
            if let time = parseTime(word), time >= .seconds(1) { return .age(time) }
            guard !word.hasSuffix("%") else {
                throw OptionError(
                    option, text,
                    "a part of the disk is what stays free: --keep-free \(word). Here give 50GB, 20 or 30d.")
            }
            throw OptionError(
                option, text, "neither a number of files nor a size or an age. Give 20, 50GB or 30d, or 50GB,30d.")
        }
    }

    fileprivate static func parseFree(_ text: String, _ option: String) throws(OptionError) -> SplitOutput.Limit {
        if text.hasSuffix("%"), let part = parseDecimal(text.dropLast(), decimals: 3), (1...95_000).contains(part) {
            return .freeFraction(Double(part) / 100_000)
        }
        if parseDigits(text, as: Int64.self) == nil, let bytes = parseBytes(text), bytes > 0 { return .free(bytes) }
        throw OptionError(option, text, "neither a size nor a part of the disk up to 95%. Give 5GB or 10%.")
    }
}

extension OutputEntry {
    /// Whether it writes several files, and deletes the oldest of them where `--keep` says so.
    fileprivate var keepsFiles: Bool { options.contains { $0.name == "keep" } }
}
