import FrameProcessing
import VideoCapturing

/// Reads a part of a picture: `10,20,640x480`, from the left, from the top, and how large.
public enum RegionOption {
    public static func parse(_ text: String) throws(OptionError) -> PixelRect {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let most = VideoFormat.maximumSide
        guard parts.count == 3, let x = parseDigits(parts[0], as: Int.self),
            let y = parseDigits(parts[1], as: Int.self), x <= most, y <= most
        else { throw OptionError("--region", text, "give X,Y,WIDTHxHEIGHT, as in 0,0,640x480.") }
        let size: PixelSize
        do throws(OptionError) {
            size = try PictureSizeOption.parse(parts[2])
        } catch {
            throw OptionError("--region", text, "give X,Y,WIDTHxHEIGHT, as in 0,0,640x480.")
        }
        return PixelRect(x: x, y: y, width: size.width, height: size.height)
    }
}
