import NIOCore

#if TLS
    import NIOSSL
#endif

/// The end of a connection's pipeline that is nearest to the kernel: closes it at once, where TLS would first finish its
/// handshake or wait for the other side's good-bye.
final class Transport: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func close() { context?.close(promise: nil) }
}

/// Makes connections secure ones: HTTPS by a certificate. Without the package's trait `TLS`, none can be made.
struct TransportSecurity: Sendable {
    #if TLS
        private let context: NIOSSLContext

        /// Reads the certificate and its key.
        init(_ tls: MJPEGServerTLS) throws(MJPEGServerError) {
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

        /// Has what comes next in the pipeline see plain bytes.
        func secure(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        }
    #else
        init(_ tls: MJPEGServerTLS) throws(MJPEGServerError) {
            throw MJPEGServerError(
                .certificate, operation: "load the certificate", subject: tls.certificateChain,
                message: "This program was built without HTTPS. Build it with the trait TLS of swift-video-capturing "
                    + "(capturer-demo: make release TLS=1), or leave the certificate out.")
        }

        func secure(_ pipeline: ChannelPipeline.SynchronousOperations) throws {}
    #endif
}
