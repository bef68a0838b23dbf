import VideoCapturing

/// Which mode a camera runs in, and why: what was asked for, what was settled with the driver, what is delivered, and
/// what was rejected.
public struct CameraModeDecision: Sendable, Hashable {
    /// What was asked for.
    public let requested: CameraModeRequest
    /// The mode, with the rate that the driver has confirmed.
    public let negotiated: CameraMode
    /// How the mode's pictures become those that are delivered.
    public let plan: DeliveryPlan
    /// What was not taken: modes that failed, in the order in which they were tried; then the others, the best first;
    /// then formats that were left out.
    public let rejected: [RejectedMode]

    init(requested: CameraModeRequest, negotiated: CameraMode, rejected: [RejectedMode]) {
        self.requested = requested
        self.negotiated = negotiated
        self.rejected = rejected
        plan = DeliveryPlan(negotiated, for: requested)
    }

    /// What consumers get, if they ask for no less.
    public var delivered: Delivery {
        Delivery(
            size: plan.size,
            rate: plan.decimatedRate == nil || negotiated.rate == nil ? negotiated.rate : requested.rate,
            convertedFrom: negotiated.cost == .none ? nil : negotiated.fourCC,
            croppedTo: plan.crop.map { PixelSize(width: $0.width, height: $0.height) },
            scaledFrom: DeliveryPlan.scaledFrom(plan, negotiated.size),
            decimatedFrom: plan.decimatedRate == nil ? nil : negotiated.rate, requested: requested.size)
    }

    /// What is delivered, and what was done for it.
    public struct Delivery: Sendable, Hashable {
        /// The size of the pictures.
        public let size: PixelSize
        /// The frames a second; nil when unknown.
        public let rate: FrameRate?
        /// The camera's format, where it is not NV12.
        public let convertedFrom: FourCC?
        /// The size of the part that is kept of the camera's pictures, where they are cut.
        public let croppedTo: PixelSize?
        /// The size before scaling, where pictures are scaled.
        public let scaledFrom: PixelSize?
        /// The camera's rate, where frames are left out.
        public let decimatedFrom: FrameRate?
        /// What was asked for.
        fileprivate let requested: PixelSize

        /// Whether the camera's own memory is handed out.
        public var isAsIs: Bool {
            convertedFrom == nil && croppedTo == nil && scaledFrom == nil && decimatedFrom == nil
        }

        /// Whether pictures are smaller than asked for, since the camera has none that are large enough.
        public var isSmallerThanRequested: Bool { size != requested }
    }
}

extension DeliveryPlan {
    fileprivate static func scaledFrom(_ plan: DeliveryPlan, _ size: PixelSize) -> PixelSize? {
        let before = plan.crop.map { PixelSize(width: $0.width, height: $0.height) } ?? size
        return before == plan.size ? nil : before
    }
}
