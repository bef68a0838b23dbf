import FrameProcessing
import Testing
import VideoCapturing

@Suite struct FieldTests {
    /// Lines of the first field stay; those of the second are the mean of their neighbors, in every layout.
    @Test(arguments: PixelFormat.allCases.filter { !$0.isCompressed }, [(16, 8), (33, 17), (2, 1), (5, 2), (64, 3)])
    func theSecondFieldIsInterpolated(_ format: PixelFormat, size: (width: Int, height: Int)) throws {
        let picture = try noise(format, size.width, size.height)
        let result = try FrameProcessor().deinterlace(picture)
        #expect(result.width == size.width && result.height == size.height && result.pixelFormat == format)
        for plane in picture.planes.indices {
            let rows = (0..<picture.planes[plane].rows).map { row in
                picture.withRow(row, ofPlane: plane) { Array($0) }
            }
            for row in rows.indices {
                var expected = rows[row]
                if row % 2 == 1 {
                    let (above, below) = (rows[row - 1], row + 1 < rows.count ? rows[row + 1] : rows[row - 1])
                    for column in expected.indices {
                        expected[column] = UInt8((Int(above[column]) + Int(below[column]) + 1) / 2)
                    }
                }
                let isRight = result.withRow(row, ofPlane: plane) { $0.elementsEqual(expected) }
                #expect(isRight, "row \(row) of plane \(plane)")
            }
        }
    }

    /// The fields follow each other; with an odd number of lines the top field has one more.
    @Test(arguments: PixelFormat.allCases.filter { !$0.isCompressed }, [true, false])
    func fieldsThatFollowEachOtherAreWoven(_ format: PixelFormat, isTopFirst: Bool) throws {
        for (width, height) in [(16, 8), (33, 17), (2, 1)] {
            let picture = try noise(format, width, height)
            let result = try FrameProcessor().weave(picture, isTopFirst: isTopFirst)
            #expect(result.width == width && result.height == height && result.pixelFormat == format)
            for plane in picture.planes.indices {
                let rows = picture.planes[plane].rows
                for row in 0..<rows {
                    let first = isTopFirst == (row % 2 == 0) ? 0 : isTopFirst ? (rows + 1) / 2 : rows / 2
                    let expected = picture.withRow(first + row / 2, ofPlane: plane) { Array($0) }
                    let isRight = result.withRow(row, ofPlane: plane) { $0.elementsEqual(expected) }
                    #expect(isRight, "row \(row) of plane \(plane)")
                }
            }
        }
    }
}
