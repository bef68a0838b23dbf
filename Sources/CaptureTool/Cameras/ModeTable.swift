import CameraCapturer

/// The modes of a camera: formats with the same sizes and rates together, a line for each size.
enum ModeTable {
    /// Formats that are told together.
    struct Section: Hashable {
        var names: [String]
        var note: String
        var entries: [CameraModeGroup.Entry]
    }

    /// In the driver's order, but for what cannot be taken, which comes last.
    static func sections(_ modes: [CameraModeGroup]) -> [Section] {
        var sections: [Section] = []
        for group in modes.filter(\.isUsable) + modes.filter({ !$0.isUsable }) {
            let note = group.isEmulated ? "made by a library, not taken" : group.cost == nil ? "cannot be taken" : ""
            if let index = sections.firstIndex(where: { $0.note == note && $0.entries == group.entries }) {
                sections[index].names.append("\(group.fourCC)")
            } else {
                sections.append(Section(names: ["\(group.fourCC)"], note: note, entries: group.entries))
            }
        }
        return sections
    }

    static func lines(_ modes: [CameraModeGroup]) -> [String] {
        sections(modes).flatMap { section in
            let note = section.note.isEmpty ? "" : " (\(section.note))"
            let heading = CameraText.wrap(
                section.names.joined(separator: " ") + note, first: "    ", rest: 4)
            let width = section.entries.map { "\($0.sizes)".count }.max() ?? 0
            let sizes = section.entries.flatMap { entry in
                CameraText.wrap(
                    "\(entry.rates)", first: "      \(padded("\(entry.sizes)", to: width))  ", rest: width + 8)
            }
            return heading + (sizes.isEmpty ? ["      no sizes"] : sizes)
        }
    }
}
