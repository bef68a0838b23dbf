public import CaptureCore

extension SequenceParameterSet {
    /// Video usability information (ITU-T H.264, annex E): what a sequence parameter set says of time and color.
    ///
    /// Parameters of a hypothetical reference decoder are passed over, and not written.
    public struct VideoUsability: Sendable, Hashable {
        /// The time base of the pictures.
        public struct Timing: Sendable, Hashable {
            /// num_units_in_tick: the units in which a tick, half a frame, is counted.
            public var unitsPerTick: UInt32
            /// time_scale: the units of a second.
            public var timeScale: UInt32
            /// Whether frames come at exactly this rate.
            public var isFixed: Bool

            /// A time base; see the properties.
            public init(unitsPerTick: UInt32, timeScale: UInt32, isFixed: Bool = false) {
                self.unitsPerTick = unitsPerTick
                self.timeScale = timeScale
                self.isFixed = isFixed
            }
        }

        /// Color and range, with the numbers of ITU-T H.273.
        public struct Signal: Sendable, Hashable {
            /// Whether samples use all values.
            public var isFullRange: Bool
            /// colour_primaries; 2 when not stated.
            public var primaries: UInt8
            /// transfer_characteristics; 2 when not stated.
            public var transfer: UInt8
            /// matrix_coefficients; 2 when not stated.
            public var matrix: UInt8

            /// Color and range; see the properties.
            public init(isFullRange: Bool, primaries: UInt8 = 2, transfer: UInt8 = 2, matrix: UInt8 = 2) {
                self.isFullRange = isFullRange
                self.primaries = primaries
                self.transfer = transfer
                self.matrix = matrix
            }

            /// What states a color matrix and range; the primaries and the transfer function of the matrix's standard.
            ///
            /// All three, since Chromium ignores the range where primaries and transfer are not stated.
            public init(_ color: ColorDescription) {
                let code = UInt8(color.matrix.h273Code)
                self.init(isFullRange: color.range == .full, primaries: code, transfer: code, matrix: code)
            }
        }

        /// What the pictures need of a decoder.
        public struct Restriction: Sendable, Hashable {
            /// max_num_reorder_frames: how many frames may precede one in decoding and follow it in output. 0 for no delay.
            public var reorderedFrameCount: Int
            /// max_dec_frame_buffering: the frames that a decoder must hold.
            public var bufferedFrameCount: Int

            /// What the pictures need; see the properties.
            public init(reorderedFrameCount: Int, bufferedFrameCount: Int) {
                self.reorderedFrameCount = reorderedFrameCount
                self.bufferedFrameCount = bufferedFrameCount
            }
        }

        /// The shape of the pixels; nil when not stated.
        public var pixelAspect: PixelAspect?
        /// Color and range; nil when not stated.
        public var signal: Signal?
        /// The time base; nil when not stated.
        public var timing: Timing?
        /// What the pictures need of a decoder; nil when not stated.
        public var restriction: Restriction?

        /// Nothing is stated.
        public init() {}

        /// Nil when it is cut off or damaged.
        init?(_ reader: inout BitReader) {
            if reader.readBit() {
                let code = Int(reader.read(8))
                if code == 255 {
                    pixelAspect = PixelAspect(width: Int(reader.read(16)), height: Int(reader.read(16)))
                } else if code > 0, code < SequenceParameterSet.VideoUsability.aspects.count {
                    let (width, height) = SequenceParameterSet.VideoUsability.aspects[code]
                    pixelAspect = PixelAspect(width: width, height: height)
                }
            }
            if reader.readBit() { _ = reader.readBit() }
            if reader.readBit() {
                _ = reader.read(3)
                var signal = Signal(isFullRange: reader.readBit())
                if reader.readBit() {
                    signal.primaries = UInt8(reader.read(8))
                    signal.transfer = UInt8(reader.read(8))
                    signal.matrix = UInt8(reader.read(8))
                }
                self.signal = signal
            }
            if reader.readBit() {
                _ = reader.readUnsigned(atMost: 5)
                _ = reader.readUnsigned(atMost: 5)
            }
            if reader.readBit() {
                timing = Timing(unitsPerTick: reader.read(32), timeScale: reader.read(32), isFixed: reader.readBit())
            }
            let hasNALDecoder = reader.readBit()
            if hasNALDecoder { SequenceParameterSet.VideoUsability.skipReferenceDecoder(&reader) }
            let hasVCLDecoder = reader.readBit()
            if hasVCLDecoder { SequenceParameterSet.VideoUsability.skipReferenceDecoder(&reader) }
            if hasNALDecoder || hasVCLDecoder { _ = reader.readBit() }
            _ = reader.readBit()
            if reader.readBit() {
                _ = reader.readBit()
                for _ in 0..<4 { _ = reader.readUnsigned() }
                restriction = Restriction(
                    reorderedFrameCount: reader.readUnsigned(atMost: 16),
                    bufferedFrameCount: reader.readUnsigned(atMost: 16))
            }
            guard reader.isValid else { return nil }
        }

        func write(to writer: inout BitWriter) {
            writer.write(pixelAspect != nil)
            if let pixelAspect {
                writer.write(255, bits: 8)
                writer.write(UInt32(pixelAspect.width), bits: 16)
                writer.write(UInt32(pixelAspect.height), bits: 16)
            }
            writer.write(false)  // overscan
            writer.write(signal != nil)
            if let signal {
                writer.write(5, bits: 3)  // video_format: unspecified
                writer.write(signal.isFullRange)
                writer.write(true)
                for number in [signal.primaries, signal.transfer, signal.matrix] {
                    writer.write(UInt32(number), bits: 8)
                }
            }
            writer.write(false)  // where chroma samples lie
            writer.write(timing != nil)
            if let timing {
                writer.write(timing.unitsPerTick, bits: 32)
                writer.write(timing.timeScale, bits: 32)
                writer.write(timing.isFixed)
            }
            writer.write(false)  // reference decoder of NAL units
            writer.write(false)  // reference decoder of slices
            writer.write(false)  // pic_struct
            writer.write(restriction != nil)
            if let restriction {
                writer.write(true)  // motion may lead out of the picture
                for value: UInt32 in [0, 0, 16, 16] { writer.writeUnsigned(value) }  // no limit of bytes, bits, motion
                writer.writeUnsigned(UInt32(clamping: restriction.reorderedFrameCount))
                writer.writeUnsigned(UInt32(clamping: restriction.bufferedFrameCount))
            }
        }

        /// E.1.2
        private static func skipReferenceDecoder(_ reader: inout BitReader) {
            let count = reader.readUnsigned(atMost: 31) + 1
            _ = reader.read(8)
            for _ in 0..<count {
                _ = reader.readUnsigned()
                _ = reader.readUnsigned()
                _ = reader.readBit()
            }
            _ = reader.read(20)
        }

        /// Table E-1.
        private static let aspects: [(Int, Int)] = [
            (0, 0), (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33), (18, 11),
            (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
        ]
    }
}
