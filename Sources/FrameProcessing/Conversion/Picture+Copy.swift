import CLibYUV
import VideoCapturing

extension Picture {
    /// Copies the samples into a picture of the same format and size.
    func copy(into target: MutablePicture) {
        for index in planes.indices {
            copyPlane(
                planes[index], target.plane(index), rowBytes: pixelFormat.rowBytes(ofPlane: index, width: width),
                rows: pixelFormat.rows(ofPlane: index, height: height))
        }
    }
}

func copyPlane(_ source: PicturePlane, _ target: MutablePicturePlane, rowBytes: Int, rows: Int) {
    CopyPlane(source.base, source.stride, target.base, target.stride, Int32(rowBytes), Int32(rows))
}
