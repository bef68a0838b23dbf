import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The files of a pattern such as `folder/img%03d.png`, as far as the library does not look at them itself: it ends at the
/// first one that is missing or empty, without an error.
struct PictureSequence {
    /// A missing file.
    struct Gap: Equatable {
        /// The name of the first file that is missing.
        var missing: String
        /// The number of images after it.
        var countAfter: Int
    }

    private let folder: String
    private let pattern: NumberedName
    /// In ascending order.
    private let numbers: [Int]

    /// Nil when the number is not in the last component of the path.
    init?(_ path: String) {
        let slash = path.lastIndex(of: "/")
        folder = slash.map { String(path[...$0]) } ?? "./"
        guard let pattern = NumberedName(slash.map { path[path.index(after: $0)...] } ?? path[...]) else { return nil }
        self.pattern = pattern
        numbers = PictureSequence.names(in: folder).compactMap(pattern.number(in:)).sorted()
    }

    /// The lowest number; nil without files.
    var firstNumber: Int? { numbers.first }

    /// The first gap in the numbers; nil when there is none.
    var firstGap: Gap? {
        for (index, number) in numbers.enumerated().dropFirst() where number > numbers[index - 1] + 1 {
            return Gap(missing: pattern.name(numbers[index - 1] + 1), countAfter: numbers.count - index)
        }
        return nil
    }

    /// Whether there is a file of that number.
    func contains(_ number: Int) -> Bool { numbers.contains(number) }

    /// The number of the first file from `number` on that is not empty, or does not exist.
    func skippingEmpty(from number: Int) -> Int {
        var number = number
        while contains(number), isEmpty(number) { number += 1 }
        return number
    }

    private func isEmpty(_ number: Int) -> Bool {
        var status = stat()
        return stat(folder + pattern.name(number), &status) == 0 && status.st_size == 0
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
