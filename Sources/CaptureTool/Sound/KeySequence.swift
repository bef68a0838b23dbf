/// The keys of a player, from the bytes that a terminal sends: one for a letter, three for an arrow.
struct KeySequence: Sendable {
    /// What a key means.
    enum Action: Sendable, Hashable {
        case pause, quit, louder, quieter, forward, backward, help
    }

    /// The bytes of a sequence that has begun.
    private var begun: [UInt8] = []

    /// Takes a byte; the action of the key that it ends, if it has one.
    mutating func take(_ byte: UInt8) -> Action? {
        switch begun.count {
        case 0 where byte == 0x1B:
            begun = [byte]
            return nil
        case 1 where byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O"):
            begun.append(byte)
            return nil
        case 2:
            begun = []
            return switch byte {
            case UInt8(ascii: "A"): .louder
            case UInt8(ascii: "B"): .quieter
            case UInt8(ascii: "C"): .forward
            case UInt8(ascii: "D"): .backward
            default: nil
            }
        default:
            begun = []
            return switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "p"): .pause
            case UInt8(ascii: "q"): .quit
            case UInt8(ascii: "+"), UInt8(ascii: "="): .louder
            case UInt8(ascii: "-"): .quieter
            case UInt8(ascii: "?"), UInt8(ascii: "h"): .help
            default: nil
            }
        }
    }
}
