import AudioCapturing
import CALSA

/// How a card delivers samples. Those of 24 and 32 bits become `float32`, which holds 24 bits exactly.
enum WireFormat: CaseIterable {
    case int16
    case float32
    /// Three bytes each, little-endian: many USB microphones.
    case int24Packed
    /// The lower three bytes of four.
    case int24
    case int32

    /// Those to ask for, the best one first.
    static func preferred(for type: SampleType) -> [WireFormat] {
        type == .int16 ? allCases : [.float32, .int24Packed, .int24, .int32, .int16]
    }

    /// ALSA's number of it, in the byte order of the machine.
    var alsa: snd_pcm_format_t {
        switch self {
        case .int16: SND_PCM_FORMAT_S16
        case .float32: SND_PCM_FORMAT_FLOAT
        case .int24Packed: SND_PCM_FORMAT_S24_3LE
        case .int24: SND_PCM_FORMAT_S24
        case .int32: SND_PCM_FORMAT_S32
        }
    }

    /// What is delivered.
    var sampleType: SampleType { self == .int16 ? .int16 : .float32 }

    /// Whether samples are delivered as they are read.
    var isDirect: Bool { self == .int16 || self == .float32 }

    var bytesPerSample: Int {
        switch self {
        case .int16: 2
        case .int24Packed: 3
        case .float32, .int24, .int32: 4
        }
    }

    /// Converts samples that are not delivered as they are.
    ///
    /// - Parameters:
    ///   - bytes: as the card gives them.
    ///   - count: the number of samples, of all channels.
    ///   - samples: room for as many of four bytes.
    func convert(_ bytes: UnsafeRawBufferPointer, count: Int, into samples: UnsafeMutableRawBufferPointer) {
        for index in 0..<count {
            let value: Float =
                switch self {
                case .int24Packed:
                    // The sign comes from the uppermost byte.
                    Float(
                        Int32(bytes[3 * index]) << 8 | Int32(bytes[3 * index + 1]) << 16
                            | Int32(bitPattern: UInt32(bytes[3 * index + 2]) << 24)) / 2_147_483_648
                case .int24:
                    Float(bytes.loadUnaligned(fromByteOffset: 4 * index, as: Int32.self) << 8) / 2_147_483_648
                case .int32: Float(bytes.loadUnaligned(fromByteOffset: 4 * index, as: Int32.self)) / 2_147_483_648
                case .int16, .float32: 0
                }
            samples.storeBytes(of: value, toByteOffset: 4 * index, as: Float.self)
        }
    }
}
