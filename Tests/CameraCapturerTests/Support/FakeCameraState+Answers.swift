import CLibV4L2
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the camera answers to the requests of V4L2.
extension FakeCameraState {
    mutating func answer(_ request: UInt, _ argument: UnsafeMutableRawPointer, _ descriptor: Int32) -> Int32 {
        let kind = FakeCameraState.self
        switch request {
        case clibv4l2_QUERYCAP:
            return kind.queryCapabilities(argument.assumingMemoryBound(to: v4l2_capability.self), driver)
        case clibv4l2_ENUM_FMT: return enumerateFormats(argument.assumingMemoryBound(to: v4l2_fmtdesc.self))
        case clibv4l2_ENUM_FRAMESIZES: return enumerateSizes(argument.assumingMemoryBound(to: v4l2_frmsizeenum.self))
        case clibv4l2_ENUM_FRAMEINTERVALS:
            return enumerateIntervals(argument.assumingMemoryBound(to: v4l2_frmivalenum.self))
        case clibv4l2_G_FMT, clibv4l2_S_FMT, clibv4l2_TRY_FMT:
            return format(argument.assumingMemoryBound(to: v4l2_format.self), request)
        case clibv4l2_G_PARM, clibv4l2_S_PARM:
            return parameters(argument.assumingMemoryBound(to: v4l2_streamparm.self), request)
        case clibv4l2_REQBUFS:
            return requestBuffers(argument.assumingMemoryBound(to: v4l2_requestbuffers.self), descriptor)
        case clibv4l2_QUERYBUF:
            let buffer = argument.assumingMemoryBound(to: v4l2_buffer.self)
            guard buffers.indices.contains(Int(buffer.pointee.index)) else { return -EINVAL }
            buffer.pointee.m.offset = buffer.pointee.index
            buffer.pointee.length = UInt32(buffers[Int(buffer.pointee.index)].byteCount)
            return 0
        case clibv4l2_QBUF:
            let index = Int(argument.assumingMemoryBound(to: v4l2_buffer.self).pointee.index)
            guard buffers.indices.contains(index), !queued.contains(index),
                !filled.contains(where: { $0.index == index })
            else { return -EINVAL }
            queued.append(index)
            return 0
        case clibv4l2_DQBUF: return dequeue(argument.assumingMemoryBound(to: v4l2_buffer.self))
        case clibv4l2_STREAMON:
            guard !buffers.isEmpty else { return -EINVAL }
            isStreaming = true
            sequence = 0
            moments = 0
            streamStart = MonotonicClock().now
            return 0
        case clibv4l2_STREAMOFF:
            isStreaming = false
            queued = []
            filled = []
            return 0
        case clibv4l2_G_SELECTION, clibv4l2_S_SELECTION:
            return select(argument.assumingMemoryBound(to: v4l2_selection.self), request)
        case clibv4l2_CROPCAP, clibv4l2_G_INPUT, clibv4l2_ENUMINPUT: return answerOfSignal(request, argument)
        case clibv4l2_QUERY_EXT_CTRL, clibv4l2_QUERYMENU, clibv4l2_G_EXT_CTRLS, clibv4l2_S_EXT_CTRLS:
            return controls.controls.isEmpty ? -ENOTTY : FakeControlDriver.answer(request, argument, &controls)
        default: return -ENOTTY
        }
    }

    private mutating func select(_ selection: UnsafeMutablePointer<v4l2_selection>, _ request: UInt) -> Int32 {
        guard selections[selection.pointee.target] != nil else { return -EINVAL }
        if request == clibv4l2_S_SELECTION { selections[selection.pointee.target] = selection.pointee.r }
        selection.pointee.r = selections[selection.pointee.target]!
        return 0
    }

    /// What a grabber with an analog input answers.
    private func answerOfSignal(_ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32 {
        guard let signalAspect else { return -ENOTTY }
        switch request {
        case clibv4l2_CROPCAP: argument.assumingMemoryBound(to: v4l2_cropcap.self).pointee.pixelaspect = signalAspect
        case clibv4l2_G_INPUT: argument.storeBytes(of: 0, as: Int32.self)
        default:
            argument.assumingMemoryBound(to: v4l2_input.self).pointee.capabilities = UInt32(V4L2_IN_CAP_STD)
        }
        return 0
    }

    private mutating func requestBuffers(
        _ request: UnsafeMutablePointer<v4l2_requestbuffers>, _ descriptor: Int32
    ) -> Int32 {
        guard !isStreaming, buffers.isEmpty || owner == descriptor else { return -EBUSY }
        request.pointee.count = min(request.pointee.count, 6)
        let byteCount = bufferLength ?? FakeCameraState.byteCount(current)
        queued = []
        filled = []
        buffers = (0..<request.pointee.count).map { _ in FakeMemory(byteCount: byteCount) }
        owner = buffers.isEmpty ? -1 : descriptor
        return 0
    }

    private static func queryCapabilities(
        _ capability: UnsafeMutablePointer<v4l2_capability>, _ driver: String
    ) -> Int32 {
        copy(driver, into: &capability.pointee.driver)
        copy("Fake Camera", into: &capability.pointee.card)
        copy("platform:fake", into: &capability.pointee.bus_info)
        capability.pointee.device_caps = UInt32(V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING)
        capability.pointee.capabilities = capability.pointee.device_caps | V4L2_CAP_DEVICE_CAPS
        return 0
    }

    private static func copy<Field>(_ text: String, into field: inout Field) {
        withUnsafeMutableBytes(of: &field) { bytes in
            for (index, byte) in text.utf8.enumerated() { bytes[index] = byte }
        }
    }

    private static func unique<Value: Equatable>(_ values: [Value]) -> [Value] {
        values.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private func enumerateFormats(_ entry: UnsafeMutablePointer<v4l2_fmtdesc>) -> Int32 {
        let formats = FakeCameraState.unique(modes.map(\.fourCC))
        guard formats.indices.contains(Int(entry.pointee.index)) else { return -EINVAL }
        entry.pointee.pixelformat = formats[Int(entry.pointee.index)].rawValue
        return 0
    }

    private func enumerateSizes(_ entry: UnsafeMutablePointer<v4l2_frmsizeenum>) -> Int32 {
        let sizes = FakeCameraState.unique(
            modes.filter { $0.fourCC.rawValue == entry.pointee.pixel_format }.map { [$0.width, $0.height] })
        guard sizes.indices.contains(Int(entry.pointee.index)) else { return -EINVAL }
        entry.pointee.type = V4L2_FRMSIZE_TYPE_DISCRETE.rawValue
        entry.pointee.discrete.width = UInt32(sizes[Int(entry.pointee.index)][0])
        entry.pointee.discrete.height = UInt32(sizes[Int(entry.pointee.index)][1])
        return 0
    }

    private func enumerateIntervals(_ entry: UnsafeMutablePointer<v4l2_frmivalenum>) -> Int32 {
        let rates = modes.filter {
            $0.fourCC.rawValue == entry.pointee.pixel_format && $0.width == entry.pointee.width
                && $0.height == entry.pointee.height
        }.map(\.rate)
        guard rates.indices.contains(Int(entry.pointee.index)) else { return -EINVAL }
        entry.pointee.type = V4L2_FRMIVAL_TYPE_DISCRETE.rawValue
        entry.pointee.discrete.numerator = UInt32(rates[Int(entry.pointee.index)].seconds)
        entry.pointee.discrete.denominator = UInt32(rates[Int(entry.pointee.index)].frames)
        return 0
    }

    private mutating func format(
        _ format: UnsafeMutablePointer<v4l2_format>, _ request: UInt
    ) -> Int32 {
        var answer = current
        if request != clibv4l2_G_FMT {
            let asked = format.pointee.fmt.pix
            answer =
                modes.first {
                    $0.fourCC.rawValue == asked.pixelformat && $0.width == asked.width && $0.height == asked.height
                } ?? modes[0]
            if request == clibv4l2_S_FMT {
                guard buffers.isEmpty else { return -EBUSY }
                current = answer
            }
        }
        format.pointee.fmt.pix.width = UInt32(answer.width)
        format.pointee.fmt.pix.height = UInt32(answer.height)
        format.pointee.fmt.pix.pixelformat = answer.fourCC.rawValue
        format.pointee.fmt.pix.field = field
        format.pointee.fmt.pix.bytesperline = UInt32(FakeCameraState.bytesPerRow(answer))
        format.pointee.fmt.pix.sizeimage = UInt32(FakeCameraState.byteCount(answer))
        return 0
    }

    private mutating func parameters(
        _ parameters: UnsafeMutablePointer<v4l2_streamparm>, _ request: UInt
    ) -> Int32 {
        if request == clibv4l2_S_PARM {
            guard !isStreaming else { return -EBUSY }
            let asked = parameters.pointee.parm.capture.timeperframe
            let matching = modes.first {
                $0.fourCC == current.fourCC && $0.width == current.width
                    && $0.height == current.height
                    && Int64($0.rate.frames) * Int64(asked.numerator) == Int64($0.rate.seconds)
                        * Int64(asked.denominator)
            }
            if let matching { current = matching }
        }
        parameters.pointee.parm.capture.timeperframe.numerator = UInt32(current.rate.seconds)
        parameters.pointee.parm.capture.timeperframe.denominator = UInt32(current.rate.frames)
        return 0
    }

    private mutating func dequeue(_ buffer: UnsafeMutablePointer<v4l2_buffer>) -> Int32 {
        guard isStreaming else { return -EINVAL }
        guard !filled.isEmpty else { return -EAGAIN }
        let picture = filled.removeFirst()
        framesGiven += 1
        let (seconds, nanoseconds) = picture.time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        buffer.pointee.index = UInt32(picture.index)
        buffer.pointee.flags = UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
        buffer.pointee.timestamp = timeval(tv_sec: Int(seconds), tv_usec: Int(nanoseconds / 1000))
        buffer.pointee.sequence = picture.sequence
        buffer.pointee.bytesused = UInt32(picture.byteCount)
        alter?(&buffer.pointee)
        return 0
    }

    private static func bytesPerRow(_ mode: FakeCamera.Mode) -> Int {
        switch mode.fourCC {
        case .mjpeg: 0
        case .yuyv, .uyvy: mode.width * 2
        default: mode.width
        }
    }

    static func byteCount(_ mode: FakeCamera.Mode) -> Int {
        switch mode.fourCC {
        case .mjpeg: mode.width * mode.height * 2
        case .yuyv, .uyvy: mode.width * mode.height * 2
        default: mode.width * mode.height * 3 / 2
        }
    }
}
