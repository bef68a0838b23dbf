#if canImport(Glibc)
    import Glibc
#endif

/// Prints Markdown.
enum Report {
    static func title(_ text: String) { print("\n### \(text)\n") }

    static func text(_ text: String) { print(text + "\n") }

    static func table(_ header: [String], _ rows: [[String]]) {
        print("| " + header.joined(separator: " | ") + " |")
        print("|" + header.map { _ in " --- |" }.joined())
        for row in rows { print("| " + row.joined(separator: " | ") + " |") }
        print("")
    }

    /// One line on whether a goal was met.
    static func goal(_ text: String, isMet: Bool) {
        print("- \(text): **\(isMet ? "met" : "missed")**\n")
        // So that one sees it come in a file, too.
        fflush(nil)
    }
}

extension Double {
    /// With `places` decimals.
    func fixed(_ places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = (magnitude * scale).rounded()
        guard places > 0 else { return (self < 0 ? "-" : "") + String(Int(scaled)) }
        let digits = String(Int(scaled))
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        return (self < 0 ? "-" : "") + padded.dropLast(places) + "." + padded.suffix(places)
    }
}
