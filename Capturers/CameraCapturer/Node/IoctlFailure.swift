#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A call that the driver has refused.
struct IoctlFailure: Error, Hashable {
    /// The request, as the V4L2 specification names it: `VIDIOC_STREAMON`.
    let request: String
    /// The error's number.
    let number: Int32

    /// The device has gone, for good as far as this descriptor is concerned.
    var isDeviceGone: Bool { number == ENODEV || number == ENXIO }
    /// The driver does not know the request, or there is no further entry to enumerate.
    var isUnsupported: Bool { number == ENOTTY || number == EINVAL }
    /// Nothing is there yet.
    var isAgain: Bool { number == EAGAIN }
}
