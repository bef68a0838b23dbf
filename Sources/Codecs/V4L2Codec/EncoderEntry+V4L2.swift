import V4L2Support
public import VideoCapturing

extension EncoderEntry {
    /// H.264 by an encoder of the kernel's, driven without a library in between; see ``V4L2VideoEncoder``.
    public static let v4l2 = EncoderEntry(
        name: "h264_v4l2", codec: .h264, summary: "H.264 by a V4L2 device, as of a Raspberry Pi 4, without FFmpeg",
        options: [
            OptionDescription(
                "encoder-device", .text("PATH"), "the device of a hardware encoder", default: "the first")
        ],
        problem: { V4L2VideoEncoder.failure()?.message },
        make: { request in
            var configuration = V4L2VideoEncoder.Configuration(bitrate: request.bitrate, purpose: request.purpose)
            configuration.frameRate = request.frameRate
            if let interval = request.keyFrameInterval { configuration.keyFrameInterval = interval }
            configuration.device = request.settings.options["encoder-device"]
            return try V4L2VideoEncoder(configuration)
        })
}

extension V4L2VideoEncoder {
    /// Why an encoder does not work on this machine; nil when it does. Opens it for frames of 640x480 and closes it.
    ///
    /// - Parameters:
    ///   - device: the node; nil for the first one that encodes the format.
    ///   - codedFormat: as in ``V4L2VideoEncoder/Configuration/codedFormat``.
    public static func failure(
        of device: String? = nil, codedFormat: FourCC = V4L2EncoderDevice.h264
    ) -> CodecError? {
        var configuration = Configuration(bitrate: 1_000_000)
        configuration.device = device
        configuration.codedFormat = codedFormat
        var failure: CodecError?
        for format in [PixelFormat.nv12, .i420] {
            do throws(CodecError) {
                let shape = EncoderFormat.Shape(pixelFormat: format, width: 640, height: 480, color: .bt601)
                let path: String
                if let device {
                    path = device
                } else {
                    path = try self.device(configuration, shape, SystemDeviceCalls())
                }
                _ = try EncoderSession(path, configuration, shape, calls: SystemDeviceCalls())
                return nil
            } catch {
                failure = failure ?? error
            }
        }
        return failure
    }

    /// The first device that encodes the format, and takes frames like these.
    static func device(
        _ configuration: Configuration, _ shape: EncoderFormat.Shape, _ calls: any DeviceCalls
    ) throws(CodecError) -> String {
        let devices = try V4L2EncoderDevice.all(
            encoding: configuration.codedFormat, MachinePlaces(), calls)
        return (devices.first { $0.pixelFormats.contains(shape.pixelFormat) } ?? devices[0]).path
    }
}
