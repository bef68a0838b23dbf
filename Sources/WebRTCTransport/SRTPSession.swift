import CaptureCore

/// One direction of SRTP and SRTCP (RFC 3711, RFC 7714), in place. For one thread at a time.
///
/// No packet is ever protected twice under one number: with GCM that would repeat a nonce, and reveal the key.
final class SRTPSession: @unchecked Sendable {
    enum Direction { case outbound, inbound }

    /// A source of packets, with its numbers.
    private struct Stream {
        let source: UInt32
        var media = ReplayWindow()
        var reports = ReplayWindow()
        /// The number of the next report.
        var nextReport: UInt32 = 0
    }

    private let direction: Direction
    private let media: SRTPCipher
    private let reports: SRTPCipher
    /// Browsers have a few. Of what is received only authentic packets add one.
    private var streams: [Stream] = []
    static let maximumSources = 16
    /// The bytes that encryption adds to a packet: a tag of at most 16, and for RTCP an index.
    static let tagSize = 24

    /// - Parameters:
    ///   - keys: the master key, and the salt behind it.
    /// - Throws: `unavailable` when OpenSSL refuses.
    init(_ direction: Direction, _ profile: SRTPProfile, keys: UnsafeMutableRawBufferPointer) throws(CaptureError) {
        self.direction = direction
        media = try SRTPCipher(profile, direction, UnsafeRawBufferPointer(keys), firstLabel: 0)
        reports = try SRTPCipher(profile, direction, UnsafeRawBufferPointer(keys), firstLabel: 3)
    }

    // Each changes the length, and returns whether the packet is to be used.

    /// Encrypts a packet of RTP; there must be room for ``SRTPSession/tagSize`` bytes behind it.
    func protect(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
        guard let clear = SRTPSession.headerSize(packet, Int(length)) else { return false }
        let stream = stream(SRTPSession.word(packet, at: 8))
        guard let index = streams[stream].media.index(of: SRTPSession.number(packet)),
            streams[stream].media.insert(index)
        else { return false }
        return media.seal(
            packet, &length, clear: clear, streams[stream].source, index, word: UInt32(truncatingIfNeeded: index >> 16),
            isReport: false)
    }

    /// Encrypts a packet of RTCP; there must be room for ``SRTPSession/tagSize`` bytes behind it.
    func protectRTCP(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
        guard length >= 8 else { return false }
        let stream = stream(SRTPSession.word(packet, at: 4))
        let index = streams[stream].nextReport
        guard index < 1 << 31 else { return false }
        streams[stream].nextReport += 1
        return reports.seal(
            packet, &length, clear: 8, streams[stream].source, UInt64(index), word: 1 << 31 | index, isReport: true)
    }

    /// Checks and decrypts a packet of SRTP.
    func unprotect(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
        guard let clear = SRTPSession.headerSize(packet, Int(length)) else { return false }
        let source = SRTPSession.word(packet, at: 8)
        let known = streams.firstIndex { $0.source == source }
        guard known != nil || streams.count < SRTPSession.maximumSources,
            let index = (known.map { streams[$0].media } ?? ReplayWindow()).index(of: SRTPSession.number(packet)),
            known.map({ streams[$0].media.accepts(index) }) ?? true,
            media.open(
                packet, &length, clear: clear, source, index, word: UInt32(truncatingIfNeeded: index >> 16),
                isReport: false)
        else { return false }
        return streams[stream(source)].media.insert(index)
    }

    /// Checks and decrypts a packet of SRTCP.
    func unprotectRTCP(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
        guard Int(length) >= 8 + reports.overhead(isReport: true) else { return false }
        let source = SRTPSession.word(packet, at: 4)
        let known = streams.firstIndex { $0.source == source }
        let word = SRTPSession.word(packet, at: Int(length) - reports.wordOffset)
        let index = UInt64(word & ~(1 << 31))
        // Reports that are not encrypted were not agreed on.
        guard word >> 31 == 1, known != nil || streams.count < SRTPSession.maximumSources,
            known.map({ streams[$0].reports.accepts(index) }) ?? true,
            reports.open(packet, &length, clear: 8, source, index, word: word, isReport: true)
        else { return false }
        return streams[stream(source)].reports.insert(index)
    }

    // MARK: Parts

    private func stream(_ source: UInt32) -> Int {
        if let index = streams.firstIndex(where: { $0.source == source }) { return index }
        streams.append(Stream(source: source))
        return streams.count - 1
    }

    private static func word(_ packet: UnsafeMutableRawPointer, at offset: Int) -> UInt32 {
        UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    private static func number(_ packet: UnsafeMutableRawPointer) -> UInt16 {
        UInt16(bigEndian: packet.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    }

    /// The size of the header of RTP with its sources and its extension, which stay readable; nil for a damaged one.
    private static func headerSize(_ packet: UnsafeMutableRawPointer, _ length: Int) -> Int? {
        guard length >= 12 else { return nil }
        let first = packet.load(as: UInt8.self)
        var size = 12 + 4 * Int(first & 15)
        if first & 0x10 != 0 {
            guard length >= size + 4 else { return nil }
            let words = packet.loadUnaligned(fromByteOffset: size + 2, as: UInt16.self)
            size += 4 + 4 * Int(UInt16(bigEndian: words))
        }
        return size <= length ? size : nil
    }
}

/// The numbers of a source that were used or received: the newest one, and which of the 1024 up to it (RFC 3711, 3.3.2).
struct ReplayWindow {
    private static let size: UInt64 = 1024
    /// The number with its roll-overs; nil before the first.
    private var newest: UInt64?
    private var bits = InlineArray<16, UInt64>(repeating: 0)

    /// The whole number of a packet: the one nearest to the newest; nil for one before the first roll-over.
    func index(of number: UInt16) -> UInt64? {
        guard let newest else { return UInt64(number) }
        let difference = Int64(Int16(truncatingIfNeeded: Int(number) - Int(newest & 0xFFFF)))
        let index = Int64(newest) + difference
        return index >= 0 && index < 1 << 48 ? UInt64(index) : nil
    }

    /// Whether a number is new, and not too old to be known.
    func accepts(_ index: UInt64) -> Bool {
        guard let newest, index <= newest else { return true }
        return newest - index < ReplayWindow.size && !contains(index)
    }

    /// Adds a number; false for one that is not accepted.
    mutating func insert(_ index: UInt64) -> Bool {
        guard accepts(index) else { return false }
        if let newest, index > newest {
            // Those in between have not come.
            for missing in max(newest + 1, index >= ReplayWindow.size ? index - ReplayWindow.size + 1 : 0)...index {
                set(missing, to: false)
            }
        }
        newest = max(newest ?? index, index)
        set(index, to: true)
        return true
    }

    private func contains(_ index: UInt64) -> Bool {
        bits[Int(index % ReplayWindow.size / 64)] >> (index % 64) & 1 == 1
    }

    private mutating func set(_ index: UInt64, to isSet: Bool) {
        let (word, bit) = (Int(index % ReplayWindow.size / 64), 1 << (index % 64) as UInt64)
        if isSet { bits[word] |= bit } else { bits[word] &= ~bit }
    }
}
