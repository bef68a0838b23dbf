/// Credentials and trust in certificates are those of every client of HTTP.
@_exported public import HTTPTransport
