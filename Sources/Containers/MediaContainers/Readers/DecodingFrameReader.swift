import VideoCapturing

/// Decodes the packets of a file into frames. Damaged packets are skipped and counted; reading continues with the next
/// one that can be decoded.
package final class DecodingFrameReader: FrameReader {
    package let format: VideoFormat
    /// The usual one for the pixel format, since VP8 in IVF carries no color description.
    package let color: ColorDescription
    package private(set) var damagedPackets: UInt64 = 0

    private let packets: any PacketReader
    private let factory: VideoDecoderFactory
    private var decoder: any VideoDecoder
    /// Frames that are decoded and not yet returned: usually at most one.
    private var ready: [(buffer: PixelBuffer, timestamp: Duration)] = []

    /// Chooses the decoder, and decodes the first frame to learn the actual format.
    ///
    /// - Parameters:
    ///   - packets: the packets, from the first one on.
    ///   - decoders: the codecs that the program links.
    /// - Throws: `formatUnsupported` when no decoder fits, `corruptData` when no packet can be decoded, and
    ///   errors of the decoder other than a damaged packet.
    package init(_ packets: any PacketReader, decoders: [VideoDecoderFactory]) throws {
        guard let factory = decoders.first(where: { $0.fourCC == packets.fourCC }) else {
            let known = decoders.isEmpty ? "none" : decoders.map(\.fourCC.description).joined(separator: ", ")
            throw MediaFileError(
                .formatUnsupported, operation: "choose a decoder", subject: packets.path,
                message: "There is no decoder for the video's codec, \(packets.fourCC) (available: \(known)); "
                    + "convert it to VP8 with `ffmpeg -i in -c:v libvpx out.ivf`.")
        }
        self.packets = packets
        self.factory = factory
        let first = try DecodingFrameReader.decodeFirst(packets, factory)
        decoder = first.decoder
        ready = first.ready
        damagedPackets = first.damaged
        format = VideoFormat(
            first.ready[0].buffer.pixelFormat, width: first.ready[0].buffer.width, height: first.ready[0].buffer.height)
        color = .assumed(for: format.pixelFormat)
    }

    package var estimatedFrameCount: Int64? { packets.statedPacketCount }
    package var discontinuities: Int { packets.discontinuities }
    package var canRewind: Bool { packets.canRewind }
    package var sourceDescription: String { packets.fourCC == "VP80" ? "VP8 in IVF" : "\(packets.fourCC) in IVF" }

    package func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)? {
        while ready.isEmpty {
            guard let packet = try packets.nextPacket() else { return nil }
            if try !DecodingFrameReader.decode(packet, decoder, into: &ready) { damagedPackets += 1 }
        }
        return ready.removeFirst()
    }

    /// Goes back to the first frame; creates a new decoder, since the old one has seen the end.
    package func rewind() throws {
        try packets.rewind()
        decoder = try factory.makeDecoder()
        ready.removeAll(keepingCapacity: true)
    }

    /// Decodes from the preceding key frame on.
    package func seek(to time: Duration) throws {
        try packets.seekToKeyFrame(before: time)
        decoder = try factory.makeDecoder()
        ready.removeAll(keepingCapacity: true)
        var shown: (buffer: PixelBuffer, timestamp: Duration)?
        while let next = try nextFrame() {
            if next.timestamp > time {
                ready.insert(next, at: 0)
                break
            }
            shown = next
            try packets.checkInterruption()
        }
        if let shown { ready.insert(shown, at: 0) }
    }

    private static func decodeFirst(_ packets: any PacketReader, _ factory: VideoDecoderFactory) throws -> (
        decoder: any VideoDecoder, ready: [(buffer: PixelBuffer, timestamp: Duration)], damaged: UInt64
    ) {
        let decoder = try factory.makeDecoder()
        var ready: [(buffer: PixelBuffer, timestamp: Duration)] = []
        var damaged: UInt64 = 0
        while ready.isEmpty {
            guard let packet = try packets.nextPacket() else {
                throw MediaFileError(
                    .corruptData, operation: "read the file", subject: packets.path,
                    message: "The file holds no picture that can be decoded (\(damaged) damaged packets).")
            }
            if try !decode(packet, decoder, into: &ready) { damaged += 1 }
        }
        return (decoder, ready, damaged)
    }

    /// False for a damaged packet.
    private static func decode(
        _ packet: IVFReader.Packet, _ decoder: any VideoDecoder,
        into ready: inout [(buffer: PixelBuffer, timestamp: Duration)]
    ) throws -> Bool {
        do {
            try packet.data.withUnsafeBytes { bytes in
                try decoder.decode(bytes) { ready.append(($0, packet.timestamp)) }
            }
            return true
        } catch let error as CodecError where error.code == .corruptData {
            return false
        }
    }
}
