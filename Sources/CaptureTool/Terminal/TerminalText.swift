import VideoCapturing

/// The colors of text on a terminal; none where the user does not want them.
struct TextStyle: Sendable, Hashable {
    /// The colors that the terminal supports.
    enum Colors: Sendable, Hashable {
        case none
        /// The 6 × 6 × 6 cube of xterm and most others.
        case indexed256
        /// 24 bits.
        case direct
    }

    var colors: Colors

    static let plain = TextStyle(colors: .none)

    /// Detects the colors from the environment: `NO_COLOR` (no-color.org) first, then `COLORTERM`, then `TERM`.
    init(isTerminal: Bool, environment: (String) -> String?) {
        let term = environment("TERM") ?? ""
        let isUnwanted = environment("NO_COLOR").map { !$0.isEmpty } ?? false
        guard isTerminal, !isUnwanted, term != "dumb", !term.isEmpty else {
            colors = .none
            return
        }
        let isDirect = ["truecolor", "24bit"].contains(environment("COLORTERM") ?? "") || term.hasSuffix("-direct")
        colors = isDirect ? .direct : .indexed256
    }

    private init(colors: Colors) {
        self.colors = colors
    }

    func warning(_ text: String) -> String { wrap(text, "33") }
    func error(_ text: String) -> String { wrap(text, "1;31") }

    private func wrap(_ text: String, _ code: String) -> String {
        colors == .none ? text : "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

/// `text` made safe for a terminal: on one line, cut to `limit` characters, with control and invisible characters
/// replaced by `?`, and without the names and passwords in URLs, which are masked before the text is cut.
///
/// ``Terminal`` applies it to every line. Call it only for standard output, and where a part needs a limit of its own.
func printable(_ text: String, limit: Int) -> String {
    let text = maskingUserInfo(in: text)
    var result = ""
    for scalar in text.unicodeScalars.prefix(limit) {
        result.unicodeScalars.append(scalar.isPrintable ? scalar : "?")
    }
    return text.unicodeScalars.count > limit ? result + "…" : result
}
