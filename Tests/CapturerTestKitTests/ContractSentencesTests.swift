import CapturerTestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// The rules quote the contract, and leave nothing of it out.
@Suite struct ContractSentencesTests {
    /// The doc comments of a source file, as one line of text.
    private func comments(of path: String) throws -> String {
        var root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        root += path.split(separator: "/")
        let name = root.joined(separator: "/")
        let file = try #require(fopen(name, "r"), "\(name)")
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").compactMap { line in
            let text = line.drop { $0 == " " }
            return text.hasPrefix("///") ? String(text.dropFirst(3).drop { $0 == " " }) : nil
        }.joined(separator: " ")
    }

    @Test func everyRuleQuotesTheContract() throws {
        let contract =
            try comments(of: "Sources/VideoCapturing/Contract/VideoCapture.swift")
            + comments(of: "Sources/VideoCapturing/Frames/VideoFrame.swift")
            + comments(of: "Sources/CaptureCore/FrameAttributes.swift")
        for rule in ConformanceSuite.Rule.allCases {
            #expect(contract.contains(rule.sentence), "\(rule): \(rule.sentence)")
        }
    }

    @Test func everySentenceHasARule() throws {
        let left = try unchecked(
            of: "Sources/VideoCapturing/Contract/VideoCapture.swift", end: "Where frames go; held weakly.",
            ConformanceSuite.Rule.allCases.map(\.sentence))
        #expect(left.allSatisfy { $0 == " " }, "No rule checks: \(left)")
    }

    @Test func everyRuleOfSoundQuotesItsContract() throws {
        let contract =
            try comments(of: "Sources/AudioCapturing/Contract/AudioCapture.swift")
            + comments(of: "Sources/AudioCapturing/Samples/AudioChunk.swift")
        for rule in AudioConformanceSuite.Rule.allCases {
            #expect(contract.contains(rule.sentence), "\(rule): \(rule.sentence)")
        }
    }

    @Test func everySentenceOfSoundHasARule() throws {
        let left = try unchecked(
            of: "Sources/AudioCapturing/Contract/AudioCapture.swift", end: "Where chunks go; held weakly.",
            AudioConformanceSuite.Rule.allCases.map(\.sentence))
        #expect(left.allSatisfy { $0 == " " }, "No rule checks: \(left)")
    }

    @Test func everyRuleOfPacketsQuotesItsContract() throws {
        let contract = try comments(of: "Sources/PacketCapturing/PacketCapture.swift")
        for rule in PacketConformanceSuite.Rule.allCases {
            #expect(contract.contains(rule.sentence), "\(rule): \(rule.sentence)")
        }
    }

    @Test func everySentenceOfPacketsHasARule() throws {
        let left = try unchecked(
            of: "Sources/PacketCapturing/PacketCapture.swift", end: "Where packets go; held weakly.",
            PacketConformanceSuite.Rule.allCases.map(\.sentence))
        #expect(left.allSatisfy { $0 == " " }, "No rule checks: \(left)")
    }

    /// What of a contract no rule quotes. The contract proper begins with “Order” and ends with the first member.
    private func unchecked(of path: String, end: String, _ sentences: [String]) throws -> String {
        var contract = try comments(of: path)
        let begin = try #require(contract.range(of: "**Order.**"))
        let end = try #require(contract.range(of: end))
        contract = String(contract[begin.upperBound..<end.lowerBound])
        for sentence in sentences {
            while let range = contract.range(of: sentence) { contract.removeSubrange(range) }
        }
        for heading in [
            "**Threads.**", "**Stop.**", "**Frames.**", "**Sound.**", "**Tracks.**", "**Times.**", "**Losses.**",
            "**States.**",
        ] {
            if let range = contract.range(of: heading) { contract.removeSubrange(range) }
        }
        return contract
    }
}

extension String {
    /// The first place of `text`; here since Foundation is not linked.
    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
