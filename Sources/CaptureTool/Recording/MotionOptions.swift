import MotionDetection
import VideoCapturing

/// What counts as motion for `--record-on motion`.
enum MotionOptions {
    static let options = [
        OptionDescription(
            "motion-area", .text("PERCENT"), "the smallest area that counts as motion, in percent of the picture",
            default: "0.5"),
        OptionDescription(
            "motion-sensitivity", .text("0..100"), "how faint a motion counts; 50 more is half the difference",
            default: "50"),
        OptionDescription(
            "motion-zone", .text("X,Y,WxH"),
            "the part to watch, in percent",
            default: "all of it", isRepeatable: true),
        OptionDescription(
            "motion-ignore", .text("X,Y,WxH"), "a part to ignore, such as a tree; in percent",
            default: "none", isRepeatable: true),
        OptionDescription(
            "motion-mask", .file, "a picture (PGM) that is black where motion is ignored", default: "none"),
    ]

    /// - Throws: a value that is not valid, with the one that would be, and a mask that cannot be read.
    static func settings(_ values: OptionValues) throws(OptionError) -> MotionSettings {
        // A clip goes on for its post-roll, which is pause enough.
        var settings = MotionSettings(quietTime: .milliseconds(500))
        if let area = try percent("motion-area", values, above: 0) { settings.minimumArea = area }
        if let sensitivity = try percent("motion-sensitivity", values) { settings.sensitivity = sensitivity }
        settings.watchedZones = try zones("motion-zone", values)
        settings.ignoredZones = try zones("motion-ignore", values)
        if let path = values["motion-mask"] {
            do throws(CaptureError) {
                settings.mask = try MotionMask(pgmFile: path)
            } catch {
                throw OptionError("motion-mask", path, error.message)
            }
        }
        return settings
    }

    /// How much moves, and where, for the event of a clip.
    static func text(_ event: MotionEvent) -> String {
        let part = [event.region.x, event.region.y, event.region.width, event.region.height].map(percent)
        return "area \(percent(event.area)) % at \(part[0]),\(part[1]),\(part[2])x\(part[3]) %"
    }

    /// In percent, with one decimal.
    private static func percent(_ fraction: Double) -> String { fixed(fraction * 100, 1) }

    /// A fraction, of a number in percent with or without its sign.
    private static func percent(
        _ name: String, _ values: OptionValues, above minimum: Int64 = -1
    ) throws(OptionError) -> Double? {
        try values.parsed(name) { (text, option) throws(OptionError) in
            guard let value = parseDecimal(withoutUnit(text, ["%"])[...], decimals: 3), value > minimum,
                value <= 100_000
            else {
                throw OptionError(
                    option, text, "give a number\(minimum < 0 ? " from 0" : " above 0") to 100, in percent.")
            }
            return Double(value) / 100_000
        }
    }

    private static func zones(_ name: String, _ values: OptionValues) throws(OptionError) -> [MotionRegion] {
        var zones: [MotionRegion] = []
        for text in values.all(name) {
            let numbers = text.split(separator: ",", omittingEmptySubsequences: false)
            let sides = numbers.last?.split(separator: "x", omittingEmptySubsequences: false) ?? []
            let fractions = (numbers.dropLast() + sides).compactMap { number in
                parseDecimal(withoutUnit(String(number), ["%"])[...], decimals: 3).map { Double($0) / 100_000 }
            }
            guard numbers.count == 3, sides.count == 2, fractions.count == 4, fractions[2] > 0, fractions[3] > 0,
                fractions[0] + fractions[2] < 1.000001, fractions[1] + fractions[3] < 1.000001
            else {
                throw OptionError(
                    name, text,
                    "not a part of the picture. Give its left and upper edge, width and height in percent: 0,50,100x50 is "
                        + "the lower half.")
            }
            zones.append(MotionRegion(x: fractions[0], y: fractions[1], width: fractions[2], height: fractions[3]))
        }
        return zones
    }
}
