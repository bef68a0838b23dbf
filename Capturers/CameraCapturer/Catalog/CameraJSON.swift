import VideoCapturing

/// Cameras as JSON. Within a version members may be added, but none changes its meaning.
enum CameraJSON {
    static func camera(_ report: CameraReport) -> JSONValue {
        let camera = report.camera
        var members: [(name: String, value: JSONValue)] = [
            ("name", .string(camera.name)), ("path", .string(camera.path)), ("id", .string(camera.id)),
            ("bus", .string(camera.bus)), ("driver", .string(camera.driver)),
            ("usable", .bool(camera.access.isUsable)), ("access", .string("\(camera.access)")),
            ("problem", report.problem.map { .string("\($0)") } ?? .null),
            ("links", .array((camera.links.byID + camera.links.byPath).map { .string($0) })),
        ]
        if let modes = report.modes { members.append(("modes", .array(modes.map(group)))) }
        if let decision = report.decision { members.append(("decision", CameraJSON.decision(decision))) }
        if let controls = report.controls { members.append(("controls", .array(controls.map(control)))) }
        return .object(members)
    }

    private static func group(_ group: CameraMode.Group) -> JSONValue {
        .object([
            ("format", .string("\(group.fourCC)")), ("name", .string(group.name)), ("usable", .bool(group.isUsable)),
            ("sizes", .array(group.entries.map { .object(sizes($0.sizes) + rates($0.rates)) })),
        ])
    }

    private static func sizes(_ sizes: CameraMode.Group.Sizes) -> [(name: String, value: JSONValue)] {
        switch sizes {
        case .discrete(let size): [("size", CameraJSON.size(size))]
        case .range(let smallest, let largest, let step):
            [("smallest", size(smallest)), ("largest", size(largest)), ("step", size(step))]
        }
    }

    private static func rates(_ rates: CameraMode.Group.Rates) -> [(name: String, value: JSONValue)] {
        switch rates {
        case .discrete(let rates): [("rates", .array(rates.map(rate)))]
        case .range(let slowest, let fastest): [("slowest", rate(slowest)), ("fastest", rate(fastest))]
        case .unlisted(let current): [("currentRate", rate(current))]
        }
    }

    private static func decision(_ decision: CameraMode.Decision) -> JSONValue {
        .object([
            (
                "requested",
                .object([
                    ("size", size(decision.requested.size)), ("rate", rate(decision.requested.rate)),
                    ("format", decision.requested.requiredFourCC.map { .string("\($0)") } ?? .null),
                ])
            ),
            ("negotiated", mode(decision.negotiated)),
            (
                "delivered",
                .object([
                    ("size", size(decision.delivered.size)), ("rate", rate(decision.delivered.rate)),
                    ("asIs", .bool(decision.delivered.isAsIs)), ("text", .string("\(decision.delivered)")),
                ])
            ),
            (
                "rejected",
                .array(
                    decision.rejected.map { rejected in
                        .object([
                            ("format", .string("\(rejected.fourCC)")), ("mode", rejected.mode.map(mode) ?? .null),
                            ("reason", .string("\(rejected.reason)")),
                        ])
                    })
            ),
        ])
    }

    private static func mode(_ mode: CameraMode) -> JSONValue {
        .object([
            ("format", .string("\(mode.fourCC)")), ("size", size(mode.size)), ("rate", rate(mode.rate)),
            ("rateListed", .bool(mode.isRateVerified)), ("bytesPerSecond", .integer(Int64(mode.bytesPerSecond))),
        ])
    }

    private static func control(_ control: CameraControl) -> JSONValue {
        .object(
            [
                ("name", .string(control.name)), ("title", .string(control.title)), ("id", .integer(Int64(control.id))),
            ] + kind(control.kind) + [
                ("value", value(control.value)), ("default", value(control.defaultValue)),
                ("flags", .array(ControlTable.states(control).map { .string($0) })),
            ])
    }

    private static func kind(_ kind: CameraControl.Kind) -> [(name: String, value: JSONValue)] {
        func items(_ items: [CameraControl.MenuItem]) -> JSONValue {
            .array(items.map { .object([("index", .integer($0.index)), ("name", .string($0.name))]) })
        }
        switch kind {
        case .integer(let range, let step):
            return [
                ("kind", .string("integer")), ("minimum", .integer(range.lowerBound)),
                ("maximum", .integer(range.upperBound)), ("step", .integer(step)),
            ]
        case .boolean: return [("kind", .string("boolean"))]
        case .menu(let choices): return [("kind", .string("menu")), ("items", items(choices))]
        case .integerMenu(let choices): return [("kind", .string("integerMenu")), ("items", items(choices))]
        case .bitmask(let mask): return [("kind", .string("bitmask")), ("mask", .integer(mask))]
        case .button: return [("kind", .string("button"))]
        case .text(let lengths):
            return [
                ("kind", .string("text")), ("minimum", .integer(Int64(lengths.lowerBound))),
                ("maximum", .integer(Int64(lengths.upperBound))),
            ]
        }
    }

    private static func value(_ value: CameraControl.Value?) -> JSONValue {
        switch value {
        case .integer(let number), .menu(let number): .integer(number)
        case .boolean(let isOn): .bool(isOn)
        case .text(let text): .string(text)
        case nil: .null
        }
    }

    private static func size(_ size: PixelSize) -> JSONValue {
        .object([("width", .integer(Int64(size.width))), ("height", .integer(Int64(size.height)))])
    }

    /// As a fraction, since 30000/1001 has no exact decimal form.
    private static func rate(_ rate: FrameRate?) -> JSONValue { rate.map { .string("\($0)") } ?? .null }
}
