/// Takes encoded pictures: a file, a server, a network sender.
public protocol PacketConsumer: AnyObject, Sendable {
    /// Takes one packet. Called on the encoder's thread, one call at a time, in the order of encoding. Keep
    /// the value to keep the packet.
    ///
    /// What it throws ends its supply: the encoding consumer reports the error, calls ``finish()`` and
    /// sends no more.
    func consumePacket(_ packet: EncodedPacket) throws

    /// No packet will come any more: writes what is still to be written and closes. Called once, on the
    /// encoder's thread.
    func finish() throws
}
