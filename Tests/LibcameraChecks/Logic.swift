import LibcameraCapturer
import VideoCapturing

/// What needs no camera: names, sizes, values of controls, times.
func checkLogic() throws {
    checkNames()
    checkSizes()
    checkControls()
    checkTimes()
    print("logic is right; libcamera \(LibcameraDevice.libraryVersion ?? "is missing")")
}

private func checkNames() {
    expect(LibcameraDevice.isUSB(#"\_SB_.PCI0.RP05.PXSX-2.1:1.0-8086:0b07"#), "a USB camera")
    expect(!LibcameraDevice.isUSB("/base/soc/i2c0mux/i2c@1/imx708@1a"), "a Raspberry Pi's camera")
    expect(!LibcameraDevice.isUSB("platform/vimc.0 Sensor B") && !LibcameraDevice.isUSB(""), "vimc, or none")
    let cameras = [
        LibcameraDevice(id: "/base/i2c@1/imx708@1a", model: "imx708"),
        LibcameraDevice(id: "/base/i2c@0/imx477@1a", model: "imx477"),
    ]
    func found(_ name: String?) -> String {
        do throws(CaptureError) { return try LibcameraDevice.find(name, in: cameras).model } catch {
            return "\(error.code)"
        }
    }
    expect(found(nil) == "imx708", "the first")
    expect(found("IMX477") == "imx477", "a part of the name")
    expect(found("/base/i2c@1/imx708@1a") == "imx708", "an identifier")
    expect(found("imx") == "\(CaptureErrorCode.invalidConfiguration)", "several: \(found("imx"))")
    expect(found(" ") == "\(CaptureErrorCode.invalidConfiguration)", "an empty name")
    expect(found("ov5647") == "\(CaptureErrorCode.deviceNotFound)", "another name")
}

private func checkSizes() {
    func size(_ width: Int, _ height: Int) -> PixelSize { PixelSize(width: width, height: height) }
    let range = OfferedFormat(
        fourCC: "NV12", smallest: size(32, 32), largest: size(4608, 2592), step: size(2, 2))
    expect(range.candidates(for: size(640, 480)).first == size(640, 480), "a size of a range")
    expect(range.candidates(for: size(8000, 8000)) == [size(4608, 2592)], "the largest")
    expect(range.candidates(for: size(4, 4)).first == size(32, 32), "the smallest")
    let list = OfferedFormat(
        fourCC: "YUYV", smallest: size(320, 240), largest: size(1280, 720), step: nil,
        sizes: [size(1280, 720), size(320, 240), size(640, 480)])
    expect(list.candidates(for: size(352, 288)) == [size(640, 480), size(1280, 720)], "the next of a list")
    let rgb = OfferedFormat(fourCC: "BG24", smallest: size(16, 16), largest: size(64, 64), step: nil)
    let unknown = OfferedFormat(fourCC: "pBAA", smallest: size(16, 16), largest: size(64, 64), step: nil)
    expect(
        OfferedFormat.ranked([unknown, rgb, list, range]).map(\.fourCC) == ["NV12", "YUYV", "BG24"], "the best first")

    let same = DeliveryShape(of: size(640, 480), for: size(640, 480))
    expect(same.crop == nil && same.size == size(640, 480), "\(same)")
    let steps = DeliveryShape(of: size(648, 486), for: size(640, 480))
    expect(steps.crop == PixelRect(x: 4, y: 2, width: 640, height: 480) && steps.size == size(640, 480), "\(steps)")
    let wide = DeliveryShape(of: size(1920, 1080), for: size(640, 480))
    expect(wide.crop == PixelRect(x: 240, y: 0, width: 1440, height: 1080) && wide.size == size(640, 480), "\(wide)")
    let small = DeliveryShape(of: size(320, 1080), for: size(640, 480))
    expect(small.crop == PixelRect(x: 0, y: 300, width: 320, height: 480) && small.size == size(320, 480), "\(small)")
}

private func checkControls() {
    func value(_ text: String, _ kind: LibcameraControl.Kind) -> Double? {
        try? LibcameraControl(name: "Gain", kind: kind).parse(text)
    }
    expect(value("2.5", .number(minimum: 1, maximum: 16)) == 2.5, "a number")
    for text in ["0.9", "17", "nan", "inf", "", "2,5"] {
        expect(value(text, .number(minimum: 1, maximum: 16)) == nil, "the number \(text)")
    }
    expect(value("-3", .integer(minimum: -4, maximum: 4)) == -3, "a whole number")
    expect(value("1.5", .integer(minimum: -4, maximum: 4)) == nil, "no whole number")
    expect(value("True", .boolean) == 1 && value("off", .boolean) == 0 && value("2", .boolean) == nil, "a switch")
    expect(value("1", .other) == nil, "several values")
}

private func checkTimes() {
    let now = MediaTime(nanoseconds: 1_000_000_000_000)
    func time(_ sensor: Int64, _ buffer: Int64, slept: Int64) -> Int64? {
        LibcameraClock.time(sensor: sensor, buffer: buffer, difference: slept, now: now)?.nanoseconds
    }
    let hour: Int64 = 3_600_000_000_000
    let exposed: Int64 = 999_950_000_000
    expect(time(exposed, 0, slept: 0) == exposed, "never slept")
    expect(time(exposed + hour, exposed, slept: hour) == exposed, "the sensor's clock counts sleep")
    expect(time(exposed, 0, slept: hour) == exposed, "the handler passes on V4L2's time")
    expect(time(0, exposed, slept: hour) == exposed, "the buffer's time alone")
    expect(time(0, 0, slept: 0) == nil && time(5, 5, slept: 0) == nil, "no time, and an old one")
    expect(time(now.nanoseconds + 1, 0, slept: 0) == nil, "the future")
    expect(time(.max, .min, slept: hour) == nil, "absurd times")
}
