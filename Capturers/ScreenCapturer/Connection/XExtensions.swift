import CLibXCB

/// The extensions of an X server that are made use of; nil for those it does not have.
struct XExtensions {
    struct Numbers {
        var majorOpcode: UInt8
        var firstEvent: UInt8
    }

    let damage: Numbers?
    let xfixes: Numbers?
    let composite: Numbers?
    let randr: Numbers?
    let sharedMemory: Numbers?
    let input: Numbers?

    init(_ connection: OpaquePointer) {
        func numbers(_ which: clibxcb_extension) -> Numbers? {
            guard let data = clibxcb_extension_data(connection, which), data.pointee.present != 0 else { return nil }
            return Numbers(majorOpcode: data.pointee.major_opcode, firstEvent: data.pointee.first_event)
        }
        damage = numbers(CLIBXCB_DAMAGE)
        xfixes = numbers(CLIBXCB_XFIXES)
        composite = numbers(CLIBXCB_COMPOSITE)
        randr = numbers(CLIBXCB_RANDR)
        sharedMemory = numbers(CLIBXCB_SHM)
        input = numbers(CLIBXCB_INPUT)
        // A server takes no request of these before it has been told which version is spoken.
        if damage != nil { xcb_discard_reply(connection, xcb_damage_query_version(connection, 1, 1).sequence) }
        if xfixes != nil { xcb_discard_reply(connection, xcb_xfixes_query_version(connection, 5, 0).sequence) }
        if composite != nil { xcb_discard_reply(connection, xcb_composite_query_version(connection, 0, 4).sequence) }
        if randr != nil { xcb_discard_reply(connection, xcb_randr_query_version(connection, 1, 5).sequence) }
        if input != nil { xcb_discard_reply(connection, xcb_input_xi_query_version(connection, 2, 2).sequence) }
    }
}
