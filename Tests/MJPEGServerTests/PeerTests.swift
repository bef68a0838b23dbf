import MJPEGServer
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Programs that others have written read what the server sends.
@Suite struct PeerTests {
    /// Shows frame after frame until the program has what it wants.
    private func feed(_ test: TestServer, until program: ToolFolder.Running) throws {
        let isDone = try eventually {
            test.server.consumeFrame(try rawFrame(width: 64, height: 48, brightness: UInt8.random(in: 0...100)))
            usleep(20_000)
            return !program.isRunning
        }
        if !isDone { program.end() }
        #expect(isDone)
    }

    @Test func ffmpegPlaysTheStream() throws {
        let test = try TestServer()
        let folder = try ToolFolder()
        test.server.consumeFrame(try rawFrame(width: 64, height: 48))
        let program = try folder.start(
            "ffmpeg",
            [
                "-nostdin", "-v", "error", "-f", "mpjpeg", "-i", "http://127.0.0.1:\(test.port)/stream", "-frames:v",
                "10", "-f", "framemd5", "out.md5",
            ])
        try feed(test, until: program)
        let result = try program.finish()
        #expect(result.status == 0, "\(result.errors)")
        let lines = String(decoding: try folder.read("out.md5"), as: UTF8.self).split(separator: "\n")
        #expect(lines.filter { !$0.hasPrefix("#") }.count == 10)
        #expect(lines.contains { $0.hasPrefix("#dimensions 0: 64x48") })
    }

    @Test func gstreamerTakesThePicturesAsTheyAre() throws {
        let test = try TestServer()
        let folder = try ToolFolder()
        let jpeg = numberedJPEG(1, padding: 3000)
        try test.show(1, padding: 3000)
        let program = try folder.start(
            "gst-launch-1.0",
            [
                "-q", "souphttpsrc", "location=http://127.0.0.1:\(test.port)/stream", "is-live=true", "!",
                "multipartdemux", "!", "multifilesink", "location=\(folder.path("%d.jpg"))",
            ])
        let hasAll = try eventually {
            try test.show(1, padding: 3000)
            usleep(20_000)
            return (try? folder.read("9.jpg"))?.count == jpeg.count
        }
        program.end()
        let result = try program.finish()
        #expect(hasAll, "\(result.errors)")
        #expect(try folder.read("5.jpg") == jpeg)
    }

    @Test func curlTakesSnapshotsAndStreams() throws {
        let test = try TestServer()
        let folder = try ToolFolder()
        try test.show(1)
        let snapshot = try folder.run(
            "curl", ["-sS", "-f", "-o", "a.jpg", "http://127.0.0.1:\(test.port)/?action=snapshot"])
        #expect(snapshot.status == 0, "\(snapshot.errors)")
        #expect(try folder.read("a.jpg") == numberedJPEG(1))
        let stream = try folder.start(
            "curl",
            [
                "-sS", "-N", "-m", "60", "-r", "0-4000", "-o", "b", "--max-filesize", "100000",
                "http://127.0.0.1:\(test.port)/stream",
            ])
        #expect(test.hasViewers(1))
        try test.show(2)
        #expect(eventually { (try? folder.read("b")).map { $0.count > 700 } == true })
        test.server.stop()
        _ = try stream.finish()
        #expect(
            String(decoding: try folder.read("b"), as: UTF8.self).hasPrefix(
                "--boundarydonotcross\r\nContent-Type: image/jpeg\r\n"))
    }

    @Test func curlReachesASocketInTheFileSystem() throws {
        let folder = try ToolFolder()
        var configuration = MJPEGServer.Configuration()
        configuration.address = "unix:" + folder.path("socket")
        let server = MJPEGServer(configuration: configuration)
        #expect(try server.start().url == configuration.address)
        #expect(server.warnings.isEmpty)
        let second = #expect(throws: MJPEGServerError.self) {
            try MJPEGServer(configuration: configuration).start()
        }
        #expect(second?.code == .addressInUse)
        let arguments = ["-sS", "--unix-socket", "socket", "http://localhost/state"]
        #expect(try folder.run("curl", arguments).output.contains("\"ok\": true"))
        server.stop()
        #expect(access(folder.path("socket"), F_OK) != 0)
    }

    #if TLS
        @Test func curlSpeaksHTTPS() throws {
            let folder = try ToolFolder()
            let made = try folder.run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                    "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1",
                ])
            #expect(made.status == 0, "\(made.errors)")
            let test = try TestServer { configuration in
                configuration.tls = .init(
                    certificateChain: folder.path("cert.pem"), privateKey: folder.path("key.pem"))
            }
            #expect(test.server.address?.url == "https://127.0.0.1:\(test.port)/")
            try test.show(1, padding: 200_000)
            let url = "https://127.0.0.1:\(test.port)"
            let snapshot = try folder.run(
                "curl", ["-sS", "-f", "--cacert", "cert.pem", "-o", "a.jpg", "\(url)/snapshot"])
            #expect(snapshot.status == 0, "\(snapshot.errors)")
            #expect(try folder.read("a.jpg") == numberedJPEG(1, padding: 200_000))
            // A client that does not know the certificate, and one that does not speak TLS, do no harm.
            #expect(try folder.run("curl", ["-sS", "\(url)/snapshot"]).status == 60)
            let plain = try Client(test.port)
            plain.get("/snapshot")
            #expect(try plain.readToEnd().contains("200 OK") == false)

            let program = try folder.start(
                "ffmpeg",
                [
                    "-nostdin", "-v", "error", "-f", "mpjpeg", "-i", "\(url)/stream", "-frames:v", "5", "-f", "null",
                    "-",
                ])
            try feed(test, until: program)
            let result = try program.finish()
            #expect(result.status == 0, "\(result.errors)")
        }
    #endif

    @Test func certificatesThatCannotBeUsedAreToldSo() throws {
        let folder = try ToolFolder()
        var configuration = MJPEGServer.Configuration()
        configuration.tls = .init(certificateChain: folder.path("no.pem"), privateKey: folder.path("no.key"))
        let error = #expect(throws: MJPEGServerError.self) { try MJPEGServer(configuration: configuration).start() }
        #expect(error?.code == .certificate)
        #expect(error?.description.contains("no.pem") == true)
    }
}
