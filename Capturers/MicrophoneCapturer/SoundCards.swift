import AudioCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a card is recognized by when it is plugged in again: its number is that of the port, or of what came before it.
struct SoundCard: Sendable, Hashable {
    /// The identifier, which names of ALSA may have in place of the number: `Mic`.
    var id: String
    /// Vendor and product of a card at USB, `0d8c:0014`; nil for others. Many cards have the identifier `Device`.
    var usbID: String?
}

/// The sound cards that the kernel has now.
struct SoundCards: Sendable {
    /// Where the kernel shows them; another folder in tests.
    var folder = "/proc/asound"

    /// The card with a number.
    ///
    /// - Returns: nil where there is none.
    func card(_ number: Int) -> SoundCard? { card(in: "card\(number)") }

    /// Whether a card is there, with any number.
    func isPresent(_ card: SoundCard) -> Bool { self.card(in: card.id) == card }

    private func card(in name: String) -> SoundCard? {
        guard let id = line("\(folder)/\(name)/id") else { return nil }
        return SoundCard(id: id, usbID: line("\(folder)/\(name)/usbid"))
    }

    /// The first line of a short file.
    private func line(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { memory in
            let count = read(file, memory.baseAddress, memory.count)
            guard count > 0 else { return nil }
            let text = String(decoding: UnsafeRawBufferPointer(rebasing: memory[..<count]), as: UTF8.self)
            return String(text.prefix { $0 != "\n" })
        }
    }

    /// The names of ALSA whose first argument is a card.
    private static let namesOfCards = ["hw", "plughw", "default", "sysdefault", "dsnoop", "front"]

    /// A name of ALSA with the identifier of the card in place of its number: `hw:1,0` as `hw:Mic,0`, which finds the card
    /// whatever number it has. Names without a number stay as they are.
    static func name(_ pcmName: String, of card: SoundCard) -> String {
        guard let colon = pcmName.firstIndex(of: ":"), namesOfCards.contains(String(pcmName[..<colon])) else {
            return pcmName
        }
        var arguments = pcmName[pcmName.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false)
        let key = "CARD="
        let index = arguments.firstIndex { $0.hasPrefix(key) } ?? (arguments[0].contains("=") ? nil : 0)
        guard let index else { return pcmName }
        let prefix = arguments[index].hasPrefix(key) ? key : ""
        guard Int(arguments[index].dropFirst(prefix.count)) != nil else { return pcmName }
        arguments[index] = "\(prefix)\(card.id)"
        return "\(pcmName[...colon])\(arguments.joined(separator: ","))"
    }
}
