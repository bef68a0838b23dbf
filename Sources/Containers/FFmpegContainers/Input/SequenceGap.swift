import Glibc
import MediaContainers

/// A picture that is missing in a sequence of numbered files: the library ends there, without an error.
struct SequenceGap: Equatable {
    /// The name of the first file that is missing.
    var missing: String
    /// How many pictures lie behind it.
    var countAfter: Int

    /// The first gap in the numbers of the files that fit a pattern, as in `folder/img%03d.png`; nil when there is none,
    /// or the number is not in the last part of the path.
    static func first(in pattern: String) -> SequenceGap? {
        let slash = pattern.lastIndex(of: "/")
        let folder = slash.map { String(pattern[...$0]) } ?? "."
        let name = slash.map { pattern[pattern.index(after: $0)...] } ?? pattern[...]
        guard let pattern = NumberedName(name) else { return nil }
        let numbers = names(in: folder).compactMap(pattern.number(in:)).sorted()
        for (index, number) in numbers.enumerated().dropFirst() where number > numbers[index - 1] + 1 {
            return SequenceGap(missing: pattern.name(numbers[index - 1] + 1), countAfter: numbers.count - index)
        }
        return nil
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
                })
        }
        return names
    }
}
