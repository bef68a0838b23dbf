#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The descriptors 0, 1 and 2, which a program may have been started without.
enum StandardDescriptors {
    /// Opens the null device for those that are closed, so that no file gets their numbers and with it what is meant for
    /// standard output or standard error. Before anything else is opened.
    ///
    /// Input and output are opened the wrong way round: whoever reads or writes them is told that they are not there.
    static func fillIn() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            let opened = open("/dev/null", mode)
            if opened >= 0, opened != descriptor {
                dup2(opened, descriptor)
                close(opened)
            }
        }
    }
}
