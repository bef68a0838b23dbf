import CaptureCore
import NIOCore

#if TLS
    import NIOSSL
#endif

/// The handler of a connection that is next to the socket: closes it at once, where TLS would first finish its handshake or
/// wait for the peer's `close_notify`.
package final class Transport: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer

    private var context: ChannelHandlerContext?

    package init() {}

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    package func close() { context?.close(promise: nil) }
}

/// Adds TLS to connections, with a certificate. Without the package's trait `TLS`, its initializer throws.
package struct TransportSecurity: Sendable {
    #if TLS
        private let context: NIOSSLContext

        /// Reads the certificate, followed by those that vouch for it, and its key, both in PEM. `protocols` are those of
        /// ALPN.
        ///
        /// - Throws: `deviceNotFound` for files that are missing or do not belong together.
        package init(certificateChain: String, privateKey: String, protocols: [String] = []) throws(CaptureError) {
            do {
                let chain = try NIOSSLCertificate.fromPEMFile(certificateChain).map {
                    NIOSSLCertificateSource.certificate($0)
                }
                let key = try NIOSSLPrivateKey(file: privateKey, format: .pem)
                var settings = TLSConfiguration.makeServerConfiguration(
                    certificateChain: chain, privateKey: .privateKey(key))
                settings.minimumTLSVersion = .tlsv12
                settings.applicationProtocols = protocols
                context = try NIOSSLContext(configuration: settings)
            } catch {
                throw CaptureError(
                    .deviceNotFound, operation: "load the certificate", subject: "\(certificateChain), \(privateKey)",
                    message:
                        "They can't be used for TLS (\(error)). Give two PEM files that belong together: the "
                        + "certificate, followed by those that vouch for it, and its key without a pass phrase.")
            }
        }

        /// Adds the handler that decrypts; those after it see plain bytes.
        package func secure(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        }
    #else
        package init(certificateChain: String, privateKey: String, protocols: [String] = []) throws(CaptureError) {
            throw CaptureError(
                .deviceNotFound, operation: "load the certificate", subject: certificateChain,
                message: "This program was built without TLS. Build it with the trait TLS of swift-video-capturing "
                    + "(capturer-demo: make release TLS=1), or leave the certificate out.")
        }

        package func secure(_ pipeline: ChannelPipeline.SynchronousOperations) throws {}
    #endif
}
