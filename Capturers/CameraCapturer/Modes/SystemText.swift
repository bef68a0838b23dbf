#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the system says of an `errno`.
func systemText(_ errno: Int32) -> String { String(cString: strerror(errno)) }
