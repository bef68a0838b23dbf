import VideoCapturing

extension CameraModeDecision.Delivery: CustomStringConvertible {
    /// `NV12 352x288 at 30 fps: cut to 440x360, scaled`.
    public var description: String {
        var steps: [String] = []
        if let convertedFrom { steps.append("converted from \(convertedFrom)") }
        if let croppedTo { steps.append("cut to \(croppedTo)") }
        if let scaledFrom { steps.append("scaled from \(scaledFrom)") }
        if let decimatedFrom { steps.append("thinned out from \(decimatedFrom.text) fps") }
        if isSmallerThanRequested { steps.append("smaller than asked for, since pictures are never scaled up") }
        let rate = rate.map { "\($0.text) fps" } ?? "an unknown rate"
        return "NV12 \(size) at \(rate): \(steps.isEmpty ? "as it comes" : steps.joined(separator: ", "))"
    }
}

extension CameraModeDecision: CustomStringConvertible {
    /// One line: `YUYV 640x480 at 30 fps, delivered as NV12 …`.
    public var summary: String { "\(negotiated), delivered as \(delivered)" }

    /// Lines for people, without a line feed at the end: what was requested, negotiated, delivered, and the first ten
    /// that were rejected.
    public var description: String { lines(rejectedLimit: 10).joined(separator: "\n") }

    /// One line each for what was requested, negotiated, delivered and rejected.
    ///
    /// - Parameter rejectedLimit: how many rejected modes to name; a last line counts the rest.
    public func lines(rejectedLimit: Int) -> [String] {
        var lines = ["requested   \(requested)", "negotiated  \(negotiated)", "delivered   \(delivered)"]
        let limit = max(0, rejectedLimit)
        lines += rejected.prefix(limit).map { "rejected    \($0)" }
        if rejected.count > limit { lines.append("rejected    \(rejected.count - limit) more") }
        return lines
    }
}
