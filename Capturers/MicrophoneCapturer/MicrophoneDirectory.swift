import AudioCapturing
import CALSA

/// A device of a sound card that records.
public struct Microphone: Sendable, Hashable {
    /// The identifier of its card, which stays when the card is plugged in again: `Mic`.
    public var cardID: String
    /// The number of its card at present.
    public var cardNumber: Int
    /// The number of the device on its card.
    public var device: Int
    /// The name of the card, for people.
    public var name: String
    /// What it records: the lowest and highest rate, and the largest number of channels; nil while another program has it.
    public var capabilities: Capabilities?

    /// What a microphone records.
    public struct Capabilities: Sendable, Hashable {
        /// The lowest and highest rate, in samples per second.
        public var sampleRates: ClosedRange<Int>
        /// The numbers of channels.
        public var channelCounts: ClosedRange<Int>
    }

    /// ALSA's name of it, with conversion: `plughw:CARD=Mic,DEV=0`.
    public var pcmName: String { Microphone.pcmName(cardID: cardID, device: device) }

    static func pcmName(cardID: String, device: Int) -> String { "plughw:CARD=\(cardID),DEV=\(device)" }
}

/// The microphones of this machine, as ALSA knows them.
enum MicrophoneDirectory {
    /// All devices that record, in the order of their cards.
    static func microphones() -> [Microphone] {
        calsa_silence()
        var found: [Microphone] = []
        var card: Int32 = -1
        while snd_card_next(&card) >= 0, card >= 0 {
            var control: OpaquePointer?
            guard snd_ctl_open(&control, "hw:\(card)", 0) >= 0, let control else { continue }
            defer { snd_ctl_close(control) }
            found += microphones(of: control, card: card)
        }
        return found
    }

    private static func microphones(of control: OpaquePointer, card: Int32) -> [Microphone] {
        var cardInfo: OpaquePointer?
        var pcmInfo: OpaquePointer?
        guard snd_ctl_card_info_malloc(&cardInfo) >= 0, let cardInfo else { return [] }
        defer { snd_ctl_card_info_free(cardInfo) }
        guard snd_pcm_info_malloc(&pcmInfo) >= 0, let pcmInfo else { return [] }
        defer { snd_pcm_info_free(pcmInfo) }
        guard snd_ctl_card_info(control, cardInfo) >= 0 else { return [] }
        let id = String(cString: snd_ctl_card_info_get_id(cardInfo))
        let name = String(cString: snd_ctl_card_info_get_name(cardInfo))
        var found: [Microphone] = []
        var device: Int32 = -1
        while snd_ctl_pcm_next_device(control, &device) >= 0, device >= 0 {
            snd_pcm_info_set_device(pcmInfo, UInt32(device))
            snd_pcm_info_set_subdevice(pcmInfo, 0)
            snd_pcm_info_set_stream(pcmInfo, SND_PCM_STREAM_CAPTURE)
            guard snd_ctl_pcm_info(control, pcmInfo) >= 0 else { continue }
            found.append(
                Microphone(
                    cardID: id, cardNumber: Int(card), device: Int(device), name: name,
                    capabilities: capabilities("hw:\(card),\(device)")))
        }
        return found
    }

    private static func capabilities(_ name: String) -> Microphone.Capabilities? {
        var pcm: OpaquePointer?
        guard snd_pcm_open(&pcm, name, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK)) >= 0, let pcm else {
            return nil
        }
        defer { snd_pcm_close(pcm) }
        guard let hardware = calsa_make_hw_params() else { return nil }
        defer { snd_pcm_hw_params_free(hardware) }
        var (lowest, highest, fewest, most): (UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0)
        guard snd_pcm_hw_params_any(pcm, hardware) >= 0,
            snd_pcm_hw_params_get_rate_min(hardware, &lowest, nil) >= 0,
            snd_pcm_hw_params_get_rate_max(hardware, &highest, nil) >= 0,
            snd_pcm_hw_params_get_channels_min(hardware, &fewest) >= 0,
            snd_pcm_hw_params_get_channels_max(hardware, &most) >= 0, lowest <= highest, fewest <= most
        else { return nil }
        return Microphone.Capabilities(
            sampleRates: Int(lowest)...Int(highest), channelCounts: Int(fewest)...Int(most))
    }

    /// ALSA's name of what a user calls a microphone: a name of ALSA, a card's identifier, or a part of its name.
    static func pcmName(of text: String) -> String {
        if text.isEmpty || text == "default" || text.contains(":") { return text.isEmpty ? "default" : text }
        let all = microphones()
        let wanted = text.lowercased()
        let found =
            all.first { $0.cardID.lowercased() == wanted } ?? all.first { $0.name.lowercased().contains(wanted) }
        // A name of the user's own configuration otherwise.
        return found?.pcmName ?? text
    }

    /// The devices for listings.
    static let directory = DeviceDirectory(
        name: "microphones",
        list: { _ in
            let found = microphones()
            let lines = found.map { microphone in
                let name = printable(microphone.name, limit: 60)
                let abilities =
                    microphone.capabilities.map { abilities in
                        "\(text(abilities.sampleRates)) Hz, \(text(abilities.channelCounts)) channels"
                    } ?? "in use by another program"
                return "microphone \(microphone.cardID) (\(microphone.pcmName)): \(name), \(abilities)"
            }
            return DeviceDirectory.Listing(
                lines: lines.isEmpty ? ["no microphones of sound cards"] : lines,
                json: found.map { microphone in
                    .object([
                        ("id", .string(microphone.cardID)), ("pcm", .string(microphone.pcmName)),
                        ("name", .string(microphone.name)), ("isBusy", .bool(microphone.capabilities == nil)),
                        ("minimumSampleRate", number(microphone.capabilities?.sampleRates.lowerBound)),
                        ("maximumSampleRate", number(microphone.capabilities?.sampleRates.upperBound)),
                        ("maximumChannelCount", number(microphone.capabilities?.channelCounts.upperBound)),
                    ])
                })
        })

    private static func text(_ range: ClosedRange<Int>) -> String {
        range.lowerBound == range.upperBound ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
    }

    private static func number(_ value: Int?) -> JSONValue { value.map { .integer(Int64($0)) } ?? .null }
}
