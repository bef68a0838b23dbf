import CLibV4L2

/// A request of the V4L2 API (`linux/videodev2.h`) and its name.
struct DeviceRequest {
    let code: UInt
    let name: String

    private init(_ code: UInt, _ name: String) {
        self.code = code
        self.name = "VIDIOC_" + name
    }

    static let queryCapabilities = DeviceRequest(clibv4l2_QUERYCAP, "QUERYCAP")
    static let enumerateFormats = DeviceRequest(clibv4l2_ENUM_FMT, "ENUM_FMT")
    static let getFormat = DeviceRequest(clibv4l2_G_FMT, "G_FMT")
    static let setFormat = DeviceRequest(clibv4l2_S_FMT, "S_FMT")
    static let tryFormat = DeviceRequest(clibv4l2_TRY_FMT, "TRY_FMT")
    static let enumerateFrameSizes = DeviceRequest(clibv4l2_ENUM_FRAMESIZES, "ENUM_FRAMESIZES")
    static let enumerateFrameIntervals = DeviceRequest(clibv4l2_ENUM_FRAMEINTERVALS, "ENUM_FRAMEINTERVALS")
    static let getParameters = DeviceRequest(clibv4l2_G_PARM, "G_PARM")
    static let setParameters = DeviceRequest(clibv4l2_S_PARM, "S_PARM")
    static let requestBuffers = DeviceRequest(clibv4l2_REQBUFS, "REQBUFS")
    static let queryBuffer = DeviceRequest(clibv4l2_QUERYBUF, "QUERYBUF")
    static let queueBuffer = DeviceRequest(clibv4l2_QBUF, "QBUF")
    static let dequeueBuffer = DeviceRequest(clibv4l2_DQBUF, "DQBUF")
    static let exportBuffer = DeviceRequest(clibv4l2_EXPBUF, "EXPBUF")
    static let streamOn = DeviceRequest(clibv4l2_STREAMON, "STREAMON")
    static let streamOff = DeviceRequest(clibv4l2_STREAMOFF, "STREAMOFF")
    static let enumerateInputs = DeviceRequest(clibv4l2_ENUMINPUT, "ENUMINPUT")
    static let getInput = DeviceRequest(clibv4l2_G_INPUT, "G_INPUT")
    static let queryStandard = DeviceRequest(clibv4l2_QUERYSTD, "QUERYSTD")
    static let setStandard = DeviceRequest(clibv4l2_S_STD, "S_STD")
    static let queryTimings = DeviceRequest(clibv4l2_QUERY_DV_TIMINGS, "QUERY_DV_TIMINGS")
    static let setTimings = DeviceRequest(clibv4l2_S_DV_TIMINGS, "S_DV_TIMINGS")
    static let subscribeEvent = DeviceRequest(clibv4l2_SUBSCRIBE_EVENT, "SUBSCRIBE_EVENT")
    static let dequeueEvent = DeviceRequest(clibv4l2_DQEVENT, "DQEVENT")
    static let queryControl = DeviceRequest(clibv4l2_QUERY_EXT_CTRL, "QUERY_EXT_CTRL")
    static let queryMenu = DeviceRequest(clibv4l2_QUERYMENU, "QUERYMENU")
    static let getControls = DeviceRequest(clibv4l2_G_EXT_CTRLS, "G_EXT_CTRLS")
    static let setControls = DeviceRequest(clibv4l2_S_EXT_CTRLS, "S_EXT_CTRLS")
}
