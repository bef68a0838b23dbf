public import AudioCapturing
public import PacketCapturing
public import VideoCapturing

extension MediaPublisher {
    /// What a ``MediaPublisher`` has done so far.
    public struct Statistics: Sendable {
        /// An encoder that was made for outputs.
        public struct Encoder: Sendable {
            /// The encoder's name, as `EncoderEntry.name`.
            public var name: String
            /// What it encodes to.
            public var codec: Codec
            /// The bitrate that was asked for, in bits per second; of no effect with ``constantQuantizer``.
            public var targetBitrate: Int
            /// The quantizer of all frames; nil where a bitrate is aimed at.
            public var constantQuantizer: Int?
            /// What was encoded.
            public var encoding: EncodingConsumer.Statistics
            /// The frames that it was given.
            public var consumer: VideoPublisher.Statistics.Consumer
            /// What the frames show, which it was made for.
            public var contentHint = VideoContentHint.none
        }

        /// An output.
        public struct Output: Sendable {
            /// Its identifier.
            public var id: MediaPublisher.OutputID
            /// Its name for messages: a path, or a URL without its secrets.
            public var name: String
            /// Its format or protocol, in a word.
            public var kind: String
            /// The path of the file that it writes, `-` for standard output; nil for other outputs.
            public var path: String?
            /// What it has done.
            public var statistics: OutputStatistics
            /// Whether it has failed.
            public var hasFailed: Bool
            /// The frames that it was given; nil where it takes packets.
            public var consumer: VideoPublisher.Statistics.Consumer?
            /// The index of its encoder in ``MediaPublisher/Statistics/encoders``; nil where it takes frames.
            public var encoder: Int?
            /// The packets that were passed on to it; nil where it takes frames, or has an encoder.
            public var passedOn: PassedOn?
        }

        /// The sound.
        public struct Audio: Sendable {
            /// What the capture has counted.
            public var capture: AudioStatistics
            /// What outputs get; nil where none takes sound.
            public var format: AudioFormat?
            /// Silence in place of sound that was missing, in frames of 48 kHz.
            public var framesOfSilence: Int64
            /// Frames of the capture that came too late to be published.
            public var framesLeftOut: Int64
            /// The encoders, by name, with what they have done.
            public var encoders: [(name: String, encoding: AudioEncodingConsumer.Statistics)]
        }

        /// What the capture has counted.
        public var capture: CaptureStatistics
        /// The sound; nil without.
        public var audio: Audio?
        /// The counts of the capture of packets; nil for a publisher of frames.
        public var packets: PacketStatistics?
        /// Frames, or packets of the leading track, that were passed to the outputs.
        public var framesPublished: UInt64
        /// The duration of those frames, by their timestamps.
        public var duration: Duration
        /// The encoders, in the order in which they were made.
        public var encoders: [Encoder]
        /// The outputs, in the order in which they were added.
        public var outputs: [Output]
    }
}

extension MediaPublisher {
    /// What was counted so far. Never waits for an output.
    public var statistics: MediaPublisher.Statistics {
        let (records, stages) = state.withLock { ($0.records, $0.stages) }
        let passed = line.passed
        return MediaPublisher.Statistics(
            capture: capture.statistics, audio: audioStatistics, packets: passing?.capture.statistics,
            framesPublished: passed.count,
            duration: passed.duration,
            encoders: stages.map { stage in
                MediaPublisher.Statistics.Encoder(
                    name: stage.name, codec: stage.codec, targetBitrate: stage.bitrate,
                    constantQuantizer: stage.key.settings.options[EncoderQuality.constantOption].flatMap { Int($0) },
                    encoding: stage.encoding.statistics,
                    consumer: stage.subscription?.statistics ?? VideoPublisher.Statistics.Consumer(name: stage.name),
                    contentHint: stage.contentHint)
            },
            outputs: records.map { record in
                MediaPublisher.Statistics.Output(
                    id: record.id, name: record.output.name, kind: record.output.kind, path: record.output.path,
                    statistics: record.output.outputStatistics, hasFailed: record.hasFailed,
                    consumer: record.subscription?.statistics,
                    encoder: record.stage.flatMap { stage in stages.firstIndex { $0 === stage } },
                    passedOn: record.relay?.passed)
            })
    }

    private var audioStatistics: MediaPublisher.Statistics.Audio? {
        guard let audio else { return nil }
        let stages = state.withLock { $0.audioStages }
        let lines = stages.map(\.statistics)
        return MediaPublisher.Statistics.Audio(
            capture: audio.capture.statistics, format: stages.isEmpty ? nil : audioFormat,
            framesOfSilence: lines.map(\.framesOfSilence).max() ?? 0,
            framesLeftOut: lines.map(\.framesLeftOut).max() ?? 0,
            encoders: stages.compactMap { stage in
                stage.encoder.map { ($0.key.encoder, $0.encoding.statistics) }
            })
    }
}
