import Foundation
import MJPEGServer
import Testing
import VideoCapturing

@Suite struct HTTPTests {
    @Test func theRoutesAnswer() throws {
        let test = try TestServer()
        try test.show(1)
        let page = try Client.fetch("/", port: test.port)
        #expect(page.status == 200)
        #expect(page.header("content-type") == "text/html; charset=utf-8")
        #expect(page.text.contains("<!doctype html>"))
        // One document, with its style sheet and scripts.
        #expect(!page.text.contains("/* include:"))
        for text in [":root {", "'mjpeg-viewer-theme'", "class Plot", "async function saveSnapshot"] {
            #expect(page.text.contains(text))
        }
        #expect(page.header("content-security-policy")?.hasPrefix("default-src 'none'") == true)
        for target in [
            "/snapshot", "/snapshot/", "/?action=snapshot", "/snapshot?x=%zz&&=", "http://localhost/snapshot",
        ] {
            let snapshot = try Client.fetch(target, port: test.port)
            #expect(snapshot.status == 200, "\(target)")
            #expect(snapshot.header("content-type") == "image/jpeg")
            #expect(snapshot.header("x-ustreamer-online") == "true")
            #expect(snapshot.header("x-timestamp")?.contains(".") == true)
            #expect(snapshot.header("cache-control")?.contains("no-store") == true)
            #expect(snapshot.body == numberedJPEG(1))
        }
    }

    @Test func theTextsSayWhoIsServed() throws {
        let test = try TestServer()
        try test.show(1)
        let idle = test.server.outputStatistics
        #expect(idle.announcement?.contains("on this machine only (0.0.0.0:\(test.port) serves others too)") == true)
        #expect(idle.summary == "Served no frames, since no viewer asked for any.")
        _ = try Client.fetch("/snapshot", port: test.port)
        #expect(eventually { test.server.outputStatistics.summary.hasPrefix("Served 1 snapshot.") })
    }

    @Test func thereIsNoIconAndNoErrorForIt() throws {
        let test = try TestServer()
        let client = try Client(test.port)
        client.get("/favicon.ico")
        #expect(try client.readHead().status == 204)
        client.get("/state")
        #expect(try client.readAnswer().status == 200)
    }

    @Test func otherAddressesAreRefusedWithASentence() throws {
        let test = try TestServer()
        try test.show(1)
        for target in [
            "/x", "//stream", "/stream//", "/./stream", "/../stream", "/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd",
            "/%73tream", "/snapshot%00", "/Snapshot", "/state/../snapshot", "/snapshot;x", "http://localhost//stream",
        ] {
            let answer = try Client.fetch(target, port: test.port)
            #expect(answer.status == 404, "\(target)")
            #expect(answer.text.contains("/stream"))
        }
        let client = try Client(test.port)
        client.send(Array("GET /snapshot".utf8) + [0] + Array(" HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        #expect(try client.readAnswer().status == 400)
    }

    @Test func otherMethodsAreRefused() throws {
        let test = try TestServer()
        for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE"] {
            let answer = try Client.fetch("/", port: test.port, method: method)
            #expect(answer.status == 405)
            #expect(answer.header("allow") == "GET, HEAD, OPTIONS")
        }
    }

    @Test(arguments: ["/", "/stream", "/snapshot", "/state", "/metrics"]) func headHasNoBody(_ target: String) throws {
        let test = try TestServer()
        let client = try Client(test.port)
        client.send("HEAD \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        let text = try client.readToEnd()
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text.hasSuffix("\r\n\r\n"))
        #expect(text.split(separator: "\r\n\r\n").count == 1)
        #expect(test.statistics.viewers.isEmpty)
    }

    @Test func anotherOriginMayReadWhenAllowed() throws {
        let test = try TestServer { $0.allowedOrigin = "https://kvm.example" }
        let answer = try Client.fetch(
            "/state", port: test.port,
            "Access-Control-Request-Headers: X-One, X-Two\r\nAccess-Control-Request-Method: GET\r\n", method: "OPTIONS")
        #expect(answer.status == 200)
        #expect(answer.header("access-control-allow-origin") == "https://kvm.example")
        #expect(answer.header("access-control-allow-credentials") == "true")
        #expect(answer.header("access-control-allow-headers") == "X-One, X-Two")
        #expect(answer.header("access-control-allow-methods") == "GET, HEAD, OPTIONS")
        #expect(
            try StreamReader(test.port).head.header("access-control-allow-origin") == "https://kvm.example")
        let closed = try TestServer()
        #expect(try Client.fetch("/state", port: closed.port).header("access-control-allow-origin") == nil)
    }

    @Test func aConnectionCanBeUsedAgain() throws {
        let test = try TestServer()
        let client = try Client(test.port)
        for _ in 0..<3 {
            client.get("/state")
            let answer = try client.readAnswer()
            #expect(answer.status == 200)
            #expect(answer.header("connection") == "keep-alive")
        }
        // Two at once are answered one after the other.
        client.send(
            "GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n"
                + "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(try client.readAnswer().header("content-type") == "application/json")
        #expect(try client.readAnswer().header("content-type")?.hasPrefix("text/plain; version=0.0.4") == true)
        #expect(try client.readToEnd().isEmpty)
        #expect(test.statistics.connectionsAccepted == 1)
    }

    @Test func aRestingConnectionIsClosedAfterAWhile() throws {
        let test = try TestServer { $0.limits.idleTimeout = .milliseconds(100) }
        let client = try Client(test.port)
        client.get("/state")
        _ = try client.readAnswer()
        #expect(try client.readToEnd().isEmpty)
    }

    @Test func theStateIsUStreamersAndOurs() throws {
        let test = try TestServer { $0.instanceID = "left" }
        let reader = try StreamReader(test.port, "/stream?key=me&extra_headers=1")
        try test.show(1)
        _ = try reader.next(from: 1)
        let answer = try Client.fetch("/state", port: test.port)
        #expect(answer.header("content-type") == "application/json")
        let root = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        #expect(root["ok"] as? Bool == true)
        let result = try #require(root["result"] as? [String: Any])
        #expect(result["instance_id"] as? String == "left")
        #expect((result["encoder"] as? [String: Any])?["quality"] as? Int == 80)
        let source = try #require(result["source"] as? [String: Any])
        #expect((source["resolution"] as? [String: Int]) == ["width": 19, "height": 9])
        #expect(source["online"] as? Bool == true)
        #expect(source["desired_fps"] is Int && source["captured_fps"] is Int)
        let stream = try #require(result["stream"] as? [String: Any])
        #expect(stream["clients"] as? Int == 1)
        #expect(stream["queued_fps"] is Int)
        let clients = try #require(stream["clients_stat"] as? [String: [String: Any]])
        let client = try #require(clients.first)
        #expect(client.key == String(try #require(test.statistics.viewers.first).id, radix: 16))
        #expect(client.value["key"] as? String == "me")
        #expect(client.value["extra_headers"] as? Bool == true)
        for name in ["advance_headers", "dual_final_frames", "zero_data"] {
            #expect(client.value[name] as? Bool == false, "\(name)")
        }
        let page = try #require(result["viewer_page"] as? [String: Any])
        for name in ["capture_fps", "stream_fps", "latency_ms", "bitrate_bps", "dropped", "viewers"] {
            #expect(page[name] is NSNumber, "\(name)")
        }
        #expect(page["width"] as? Int == 19 && page["height"] as? Int == 9)
        #expect(page["online"] as? Bool == true)
        #expect(page["reason"] as? String == "")
    }

    @Test func theRatesAndTheLatencyAreMeasured() throws {
        let test = try TestServer()
        let reader = try StreamReader(test.port)
        var number = 0
        // Rates are of quarters of a second that have passed.
        let isMeasured = try eventually {
            number += 1
            try test.show(number)
            _ = try reader.next(from: number)
            let statistics = test.statistics
            return statistics.captureRate > 0 && statistics.streamRate > 0
                && (statistics.viewers.first?.frameRate ?? 0) > 0
        }
        #expect(isMeasured)
    }

    @Test func theMetricsAreInPrometheusFormat() throws {
        let test = try TestServer()
        let reader = try StreamReader(test.port)
        try test.show(1)
        _ = try reader.next(from: 1)
        #expect(eventually { test.statistics.p50Latency != nil })
        _ = try Client.fetch("/nowhere", port: test.port)
        let text = try Client.fetch("/metrics", port: test.port).text
        var types: [Substring: Substring] = [:]
        var helped: Set<Substring> = []
        var values: [Substring: Double] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE") {
                types[words[2]] = words[3]
            } else if line.hasPrefix("# HELP") {
                helped.insert(words[2])
            } else {
                #expect(words.count == 2, "\(line)")
                values[words[0]] = Double(words[1])
                let name = words[0].prefix { $0 != "{" }
                let isSummary = name.hasPrefix("mjpeg_server_latency_seconds")
                #expect(types[isSummary ? "mjpeg_server_latency_seconds" : name] != nil, "\(line)")
                #expect(Double(words[1]) != nil, "\(line)")
            }
        }
        #expect(Set(types.keys) == helped)
        #expect(values["mjpeg_server_viewers"] == 1)
        #expect(values["mjpeg_server_captured_frames_total"] == 1)
        #expect(values["mjpeg_server_passed_through_frames_total"] == 1)
        #expect(values["mjpeg_server_source_online"] == 1)
        #expect(values["mjpeg_server_answers_total{code=\"404\"}"] == 1)
        #expect(values["mjpeg_server_latency_seconds_count"] == 1)
        #expect(values["mjpeg_server_latency_seconds{quantile=\"0.99\"}"] != nil)
    }
}
