extension CapturerEntry {
    /// A program's request to a capturer that it knows by name only: an input, and values of the options that the
    /// capturer's ``CapturerEntry`` describes. The capturer chooses the missing values.
    public struct Request: Sendable, Hashable {
        /// The requested frame rate.
        public enum Rate: Sendable, Hashable {
            /// A number of frames per second.
            case frames(FrameRate)
            /// As fast as consumers accept them; for a device its highest rate.
            case maximum
        }

        /// The device, file or address: the value of ``CapturerEntry/inputOption``, or a URL of one of its schemes.
        public var input: String?
        /// The values of the other options, by name.
        public var options: OptionValues
        /// Whether all uses of the frames keep red, green and blue as they are. A source of such pictures then delivers
        /// them, unless its options say otherwise: in 4:2:0, colored text is smeared.
        public var prefersRGB = false

        /// A request; the capturer chooses the missing values.
        public init(input: String? = nil, options: OptionValues = OptionValues()) {
            self.input = input
            self.options = options
        }

        /// The value of `size`.
        ///
        /// - Throws: `OptionError` with the valid sizes, and the name that was probably meant.
        public func size() throws(OptionError) -> PixelSize? { try options.size("size") }

        /// The value of `fps`.
        ///
        /// - Throws: `OptionError` for a value that is not a frame rate.
        public func rate() throws(OptionError) -> Rate? { try options.rate("fps") }

        /// The value of `fps` as the maximum rate of a source that waits for its device or for changes; 30 without one.
        package func maximumRate() throws(OptionError) -> FrameRate {
            switch try rate() {
            case .frames(let rate): rate
            // Above the rate of any camera and screen.
            case .maximum: 1000
            case nil: 30
            }
        }

        /// The value of `pixel-format`.
        ///
        /// - Throws: `OptionError` with the names of the formats.
        public func pixelFormat() throws(OptionError) -> PixelFormat? { try options.pixelFormat("pixel-format") }

        /// Whether frames were requested as fast as possible, with `max` as `fps`.
        public var asksForMaximumRate: Bool { options["fps"]?.lowercased() == "max" }

        /// The requested format, completed from `standard`.
        ///
        /// - Throws: `OptionError` for an invalid size or pixel format.
        public func format(default standard: VideoFormat) throws(OptionError) -> VideoFormat {
            let size = try size() ?? PixelSize(width: standard.imageWidth, height: standard.imageHeight)
            return VideoFormat(
                try pixelFormat() ?? standard.pixelFormat, width: size.width, height: size.height,
                estimatedFramesPerSecond: standard.estimatedFramesPerSecond)
        }

        /// The requested rate, or `standard`; nil for as fast as consumers accept the frames.
        ///
        /// - Throws: `OptionError` for a value that is not a frame rate.
        public func frameRate(default standard: FrameRate) throws(OptionError) -> FrameRate? {
            switch try rate() {
            case .frames(let rate): rate
            case .maximum: nil
            case nil: standard
            }
        }
    }
}
