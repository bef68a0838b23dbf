import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

exit(CapturerDemo.run(Array(CommandLine.arguments.dropFirst())))
