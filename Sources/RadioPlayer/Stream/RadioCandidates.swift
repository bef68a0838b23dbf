import AudioCapturing
import HTTPTransport

/// The addresses at which a stream may be: the given one, or the entries of a playlist and then the given one again,
/// since entries with a token expire. One of them is the current one.
package struct RadioCandidates: Sendable {
    private var addresses: [HTTPAddress]
    private var index = 0
    /// What the user gave; of a playlist in a file its first entry.
    private let given: HTTPAddress
    private let login: HTTPCredential?
    /// Whether the last address is the playlist that has named the others.
    private(set) var hasPlaylist = false
    /// Entries that were dropped.
    private var dropped = 0

    /// Nested playlists may name more; they are left out.
    private static let maximumEntries = 64

    /// - Parameters:
    ///   - entries: the given address, or the entries of a playlist that cannot be read again; one or more.
    ///   - login: the user name and password that were given apart from the address.
    package init(_ entries: [HTTPAddress], login: HTTPCredential?) {
        addresses = Array(entries.prefix(RadioCandidates.maximumEntries))
        given = entries[0]
        self.login = login
    }

    /// The address to try now.
    package var current: HTTPAddress { addresses[index] }

    /// The login for the current address. A login goes to the server for which it was given: neither to another host or
    /// port that a playlist names, nor from https to http.
    package var currentLogin: HTTPCredential? {
        guard current.isSameServer(as: given) else { return current.credential }
        return login ?? current.credential ?? given.credential
    }

    /// Whether the current address is the playlist that has named the others.
    var isAtPlaylist: Bool { hasPlaylist && index == addresses.count - 1 }

    /// The number of addresses that may give sound.
    var entryCount: Int { addresses.count - (hasPlaylist ? 1 : 0) }

    /// The number of addresses that may give sound, with those that were dropped.
    var listedCount: Int { entryCount + dropped }

    /// Takes the entries of the playlist that the current address has given.
    package mutating func adopt(_ entries: [HTTPAddress]) {
        if isAtPlaylist || addresses.count == 1 {
            addresses = entries.prefix(RadioCandidates.maximumEntries) + [given]
            hasPlaylist = true
            index = 0
            dropped = 0
        } else {
            let room = RadioCandidates.maximumEntries + 1 - entryCount
            addresses.replaceSubrange(index...index, with: entries.prefix(room))
        }
    }

    /// Goes to the next address.
    ///
    /// - Returns: whether all entries had their turn.
    mutating func advance() -> Bool {
        let isRoundOver = index >= entryCount - 1
        index = (index + 1) % addresses.count
        return isRoundOver
    }

    /// Drops the current entry, which can never play, and goes to the next.
    ///
    /// - Returns: false when there is no other entry.
    mutating func dropCurrent() -> Bool {
        guard entryCount > 1, !isAtPlaylist else { return false }
        addresses.remove(at: index)
        dropped += 1
        index %= addresses.count
        return true
    }
}
