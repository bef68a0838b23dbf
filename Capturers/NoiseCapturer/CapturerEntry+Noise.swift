import VideoCapturing

extension CapturerEntry {
    /// White noise, as the source `noise` of a program.
    public static let noise = CapturerEntry(
        name: "noise", summary: "White noise: every byte of every frame is new. Needs no device.",
        schemes: ["noise"],
        options: [
            .size(default: "640x480"),
            .pixelFormat([.nv12, .i420, .argb], default: "nv12"),
            .frameRate(default: "30"),
            OptionDescription(
                "seed", .text("NUMBER"), "chooses the noise; the same number makes the same noise", default: "0"),
        ],
        make: { request in
            let rate = try request.frameRate(default: 30)
            var source = CatalogSource(
                NoiseCapturer(
                    format: try request.format(default: .nv12(width: 640, height: 480)), frameRate: rate,
                    seed: try request.options.count("seed", in: 0...UInt64.max) ?? 0))
            source.isMadeOnDemand = rate == nil
            return source
        })
}
