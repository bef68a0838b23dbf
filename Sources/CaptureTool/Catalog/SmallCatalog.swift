// The catalog of the small tool, in place of DemoCatalog.swift: Package.swift builds one of the two.
import FileOutput
import FrameProcessing
import MediaPublishing
import NoiseCapturer
import PatternCapturer
import VP8Codec
import VideoCapturing

/// What the tool of `make demo` offers: the parts that build in a minute, with few libraries.
let demoCatalog = ToolCatalog(
    sources: CapturerCatalog([.noise, .pattern]),
    encoders: [.vp8],
    outputs: OutputCatalog(OutputEntry.files + [.terminal]),
    shorthands: [.preview],
    checks: [{ Finding.vp8() }, { Finding.pixels() }],
    examples: [
        ("--source noise", "to capture.webm"),
        ("--source pattern --duration 10 -o a.webm -o a.y4m", "test pictures, to two files"),
        ("--source pattern --preview", "in the terminal"),
    ],
    remark: "This is the small tool of make demo: noise, test pictures, VP8, files. All parts: make release.")
