import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

CapturerDemo.prepareProcess()
exit(CapturerDemo.run(CapturerDemo.arguments))
