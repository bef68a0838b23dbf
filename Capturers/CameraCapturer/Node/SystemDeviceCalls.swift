import CLibV4L2

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The machine's own devices, through libv4l2 with its conversions switched off.
///
/// libv4l2 brings the plug-ins of vendors. It knows single-planar nodes only, and 16 of them at most; it passes
/// calls for all others on to the kernel as they are.
///
/// It tells people on standard error what it is refused while it takes a node over, unless it is given a file for that;
/// then it writes each call there, which costs more than all else that is done with a frame in memory of the driver. So
/// it is given no file, and only nodes that will not refuse.
struct SystemDeviceCalls: DeviceCalls {
    func open(_ path: String) -> Int32 {
        let descriptor = clibv4l2_kernel_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return -errno }
        if SystemDeviceCalls.isForLibrary(descriptor) { _ = v4l2_fd_open(descriptor, V4L2_DISABLE_CONVERSION) }
        return descriptor
    }

    /// Whether libv4l2 knows this kind of node, and will not be refused what it asks of it.
    private static func isForLibrary(_ descriptor: Int32) -> Bool {
        var capability = v4l2_capability()
        guard clibv4l2_kernel_ioctl(descriptor, clibv4l2_QUERYCAP, &capability) == 0,
            capability.device_caps & UInt32(V4L2_CAP_VIDEO_CAPTURE) != 0
        else { return false }
        var format = v4l2_format()
        format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        return clibv4l2_kernel_ioctl(descriptor, clibv4l2_G_FMT, &format) == 0
    }

    func close(_ descriptor: Int32) { v4l2_close(descriptor) }

    func ioctl(_ descriptor: Int32, _ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32 {
        let result = clibv4l2_ioctl(descriptor, request, argument)
        return result < 0 ? -errno : result
    }

    func map(
        _ descriptor: Int32, byteCount: Int, offset: UInt32
    ) -> (address: UnsafeMutableRawPointer?, error: Int32) {
        let address = v4l2_mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, Int64(offset))
        guard let address, address != MAP_FAILED else { return (nil, errno) }
        return (address, 0)
    }

    /// Short of memory the mapping stays as it is, and holds the device until it is let go.
    func detach(_ address: UnsafeMutableRawPointer, byteCount: Int) { _ = clibv4l2_detach(address, byteCount) }

    func unmap(_ address: UnsafeMutableRawPointer, byteCount: Int) { v4l2_munmap(address, byteCount) }
}
