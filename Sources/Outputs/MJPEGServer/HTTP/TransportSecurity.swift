import NIOCore
import VideoCapturing

#if TLS
    import NIOSSL
#endif

/// The handler of a connection that is next to the socket: closes it at once, where TLS would first finish its handshake or
/// wait for the peer's `close_notify`.
final class Transport: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func close() { context?.close(promise: nil) }
}

/// Adds TLS to connections, with a certificate. Without the package's trait `TLS`, its initializer throws.
struct TransportSecurity: Sendable {
    #if TLS
        private let context: NIOSSLContext

        /// Reads the certificate and its key.
        init(_ tls: MJPEGServer.Configuration.TLS) throws(MJPEGServerError) {
            do {
                let chain = try NIOSSLCertificate.fromPEMFile(tls.certificateChain).map {
                    NIOSSLCertificateSource.certificate($0)
                }
                let key = try NIOSSLPrivateKey(file: tls.privateKey, format: .pem)
                var settings = TLSConfiguration.makeServerConfiguration(
                    certificateChain: chain, privateKey: .privateKey(key))
                settings.minimumTLSVersion = .tlsv12
                settings.applicationProtocols = ["http/1.1"]
                context = try NIOSSLContext(configuration: settings)
            } catch {
                throw MJPEGServerError(
                    .certificate, operation: "load the certificate",
                    subject: "\(tls.certificateChain), \(tls.privateKey)",
                    message:
                        "They can't be used for HTTPS (\(error)). Give two PEM files that belong together: the "
                        + "certificate, followed by those that vouch for it, and its key without a pass phrase.")
            }
        }

        /// Adds the handler that decrypts; those after it see plain bytes.
        func secure(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        }
    #else
        init(_ tls: MJPEGServer.Configuration.TLS) throws(MJPEGServerError) {
            throw MJPEGServerError(
                .certificate, operation: "load the certificate", subject: tls.certificateChain,
                message: "This program was built without HTTPS. Build it with the trait TLS of swift-video-capturing "
                    + "(capturer-demo: make release TLS=1), or leave the certificate out.")
        }

        func secure(_ pipeline: ChannelPipeline.SynchronousOperations) throws {}
    #endif
}
