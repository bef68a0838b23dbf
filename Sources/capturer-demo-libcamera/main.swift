// The tool with the cameras of libcamera as well. `LIBCAMERA=1 scripts/tool` builds it.
import CaptureTool
import LibcameraCapturer
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

CapturerDemo.prepareProcess()
exit(
    CapturerDemo.run(CapturerDemo.arguments) { catalog in
        CapturerCatalog(catalog.entries.map { $0.name == "camera" ? $0.addingLibcamera() : $0 })
    })
