import VideoCapturing

/// Finds out whether the camera has moved: whether the whole picture is the background in another place.
struct CameraShift: Sendable {
    let columns: Int
    let rows: Int

    /// The farthest shift that is looked for, in cells.
    private static let reach = 4

    /// The shift with the smallest difference between the picture and the background.
    init(_ plane: LumaPlane, _ mean: [Float]) {
        let size = plane.size
        let reach = Self.reach
        var best = (columns: 0, rows: 0, difference: Float.infinity)
        guard size.width > 4 * reach, size.height > 4 * reach else {
            (columns, rows) = (0, 0)
            return
        }
        plane.samples.withUnsafeBufferPointer { samples in
            mean.withUnsafeBufferPointer { mean in
                for y in -reach...reach {
                    for x in -reach...reach {
                        var difference: Float = 0
                        for row in stride(from: reach, to: size.height - reach, by: 2) {
                            let here = row * size.width
                            let there = (row + y) * size.width + x
                            var sum: Float = 0
                            for column in stride(from: reach, to: size.width - reach, by: 2) {
                                sum += abs(Float(samples[here + column]) - mean[there + column])
                            }
                            difference += sum
                        }
                        // The nearer one where both are as good.
                        difference *= 1 + 0.001 * Float(abs(x) + abs(y))
                        if difference < best.difference { best = (x, y, difference) }
                    }
                }
            }
        }
        (columns, rows) = (best.columns, best.rows)
    }

    /// Where the background, moved by the shift or by a cell more or less, agrees with the picture.
    func matches(_ plane: LumaPlane, _ mean: [Float], tolerance: Float) -> [Bool] {
        let size = plane.size
        var result = [Bool](repeating: false, count: plane.samples.count)
        for row in 0..<size.height {
            let (up, down) = (row + rows - 1, row + rows + 1)
            for column in 0..<size.width {
                let (left, right) = (column + columns - 1, column + columns + 1)
                guard up >= 0, left >= 0, down < size.height, right < size.width else {
                    // Beyond the edge, where the background is not known.
                    result[row * size.width + column] = columns != 0 || rows != 0
                    continue
                }
                var (lowest, highest) = (Float.infinity, -Float.infinity)
                for y in up...down {
                    for x in left...right {
                        let value = mean[y * size.width + x]
                        lowest = min(lowest, value)
                        highest = max(highest, value)
                    }
                }
                let sample = Float(plane.samples[row * size.width + column])
                // A background that was learned between two cells has less contrast.
                let margin = tolerance + (highest - lowest) / 4
                result[row * size.width + column] = sample >= lowest - margin && sample <= highest + margin
            }
        }
        return result
    }
}
