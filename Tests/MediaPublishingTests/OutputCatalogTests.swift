import FileOutput
import MediaContainers
import MediaPublishing
import Testing
import VideoCapturing

@Suite struct OutputCatalogTests {
    private static let catalog = OutputCatalog(
        OutputEntry.files + [
            OutputEntry(
                name: "serve", summary: "a server", schemes: ["serve"],
                options: [OptionDescription("quality", .text("N"), "the quality", default: "80")],
                make: { (request) throws(OptionError) in
                    _ = try request.options.count("quality", in: 1...100)
                    return FileOutput(request.target, format: .null)
                })
        ])

    @Test(arguments: [
        ("capture.webm", "webm", "capture.webm"), ("a/b.c/x.Y4M", "y4m", "a/b.c/x.Y4M"), ("ivf:-", "ivf", "-"),
        ("y4m:/dev/fd/3", "y4m", "/dev/fd/3"), ("-", "webm", "-"), ("null", "null", ""), ("md5", "md5", "-"),
        ("md5:sum.txt", "md5", "sum.txt"), ("md5:", "md5", "-"), ("photos:today.webm", "webm", "photos:today.webm"),
        ("null:x", "null", ""),
        ("serve://8080", "serve", "serve://8080"), ("x.i420", "yuv", "x.i420"), ("./md5", "", ""),
    ])
    func whatATextStandsFor(text: String, name: String, target: String) {
        let found = try? OutputCatalogTests.catalog.resolve(text)
        #expect(found?.entry.name ?? "" == name)
        #expect(found?.target ?? "" == target)
    }

    @Test(arguments: [
        ("", "give a file name"), ("a.webn", "Did you mean webm?"), ("yuf:-", "Did you mean yuv?"),
        ("servr://80", "Did you mean serve?"), ("capture", "no extension"), ("nul", "Did you mean null?"),
        ("webm:", "give a file name after the colon"), ("a\0b.webm", "null character"), (".webm", "no extension"),
    ])
    func whatStandsForNothing(text: String, message: String) {
        let error = #expect(throws: OptionError.self) { try OutputCatalogTests.catalog.resolve(text) }
        #expect(error?.description.contains(message) ?? false, "\(String(describing: error))")
        #expect(error?.description.hasPrefix("--output '") ?? false)
    }

    @Test func anOutputGetsItsOwnOptionsOnly() throws {
        let catalog = OutputCatalogTests.catalog
        let options = OptionValues(["quality": ["101"], "threads": ["x"]])
        #expect(throws: OptionError.self) { try catalog.makeOutput("serve://1", options: options) }
        _ = try catalog.makeOutput("a.webm", options: options)
    }

}
