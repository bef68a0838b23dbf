import VideoCapturing

extension CameraMode {
    /// The mode that a camera runs in, and why: the request, the mode negotiated with the driver, the delivered format, and
    /// the rejected modes.
    public struct Decision: Sendable, Hashable {
        /// The request.
        public let requested: CameraMode.Request
        /// The negotiated mode, with the rate that the driver has confirmed.
        public let negotiated: CameraMode
        /// The processing from the mode's frames to the delivered ones.
        package let plan: DeliveryPlan
        /// The rejected modes: those that failed, in the order in which they were tried; then the others, the best first;
        /// then unusable formats.
        public let rejected: [CameraMode.Decision.RejectedMode]

        init(requested: CameraMode.Request, negotiated: CameraMode, rejected: [CameraMode.Decision.RejectedMode]) {
            self.requested = requested
            self.negotiated = negotiated
            self.rejected = rejected
            plan = DeliveryPlan(negotiated, for: requested)
        }

        /// The delivered format, unless consumers want a smaller size or a lower rate.
        public var delivered: Delivery {
            Delivery(
                size: plan.size,
                rate: plan.decimatedRate == nil || negotiated.rate == nil ? negotiated.rate : requested.rate,
                convertedFrom: negotiated.cost == .none ? nil : negotiated.fourCC,
                croppedTo: plan.crop.map { PixelSize(width: $0.width, height: $0.height) },
                scaledFrom: DeliveryPlan.scaledFrom(plan, negotiated.size),
                decimatedFrom: plan.decimatedRate == nil ? nil : negotiated.rate,
                passedOnAs: requested.media.isPackets ? negotiated.fourCC : nil, requested: requested.size)
        }

        /// The delivered format, and the processing for it.
        public struct Delivery: Sendable, Hashable {
            /// The size of the frames.
            public let size: PixelSize
            /// The frames per second; nil when unknown.
            public let rate: FrameRate?
            /// The camera's format, where it is not NV12.
            public let convertedFrom: FourCC?
            /// The size after cropping, where frames are cropped.
            public let croppedTo: PixelSize?
            /// The size before scaling, where frames are scaled.
            public let scaledFrom: PixelSize?
            /// The camera's rate, where frames are dropped to keep to the desired rate.
            public let decimatedFrom: FrameRate?
            /// The camera's format, where its packets are delivered as they are.
            public let passedOnAs: FourCC?
            /// The requested size.
            fileprivate let requested: PixelSize

            /// Whether frames are delivered as they come, in the camera's own memory, or packets as the camera encodes them.
            public var isAsIs: Bool {
                convertedFrom == nil && croppedTo == nil && scaledFrom == nil && decimatedFrom == nil
            }

            /// Whether frames are smaller than requested, since the camera has none that are large enough.
            public var isSmallerThanRequested: Bool { size.width < requested.width || size.height < requested.height }
        }
    }
}

extension DeliveryPlan {
    fileprivate static func scaledFrom(_ plan: DeliveryPlan, _ size: PixelSize) -> PixelSize? {
        let before = plan.crop.map { PixelSize(width: $0.width, height: $0.height) } ?? size
        return before == plan.size ? nil : before
    }
}

extension CameraMode.Decision.Delivery: CustomStringConvertible {
    /// `NV12 352x288 at 30 fps: cut to 440x360, scaled`.
    public var description: String {
        var steps: [String] = []
        if let convertedFrom { steps.append("converted from \(convertedFrom)") }
        if let croppedTo { steps.append("cut to \(croppedTo)") }
        if let scaledFrom { steps.append("scaled from \(scaledFrom)") }
        if let decimatedFrom { steps.append("thinned out from \(decimatedFrom.text) fps") }
        if passedOnAs != nil {
            if size != requested { steps.append("of the camera's size, since packets are not scaled") }
        } else if isSmallerThanRequested {
            steps.append("smaller than asked for, since pictures are never scaled up")
        }
        let rate = rate.map { "\($0.text) fps" } ?? "an unknown rate"
        let name = passedOnAs.map { "packets of \($0)" } ?? "NV12"
        return "\(name) \(size) at \(rate): \(steps.isEmpty ? "as it comes" : steps.joined(separator: ", "))"
    }
}

extension CameraMode.Decision: CustomStringConvertible {
    /// One line: `YUYV 640x480 at 30 fps, delivered as NV12 …`.
    public var summary: String { "\(negotiated), delivered as \(delivered)" }

    /// One line each for the requested, negotiated and delivered mode and the first ten rejected ones, without a line
    /// feed at the end.
    public var description: String { lines(rejectedLimit: 10).joined(separator: "\n") }

    /// One line each for the requested, negotiated, delivered and rejected modes.
    ///
    /// - Parameter rejectedLimit: the maximum number of rejected modes to name; a last line counts the rest.
    public func lines(rejectedLimit: Int) -> [String] {
        var lines = ["requested   \(requested)", "negotiated  \(negotiated)", "delivered   \(delivered)"]
        let limit = max(0, rejectedLimit)
        lines += rejected.prefix(limit).map { "rejected    \($0)" }
        if rejected.count > limit { lines.append("rejected    \(rejected.count - limit) more") }
        return lines
    }
}
