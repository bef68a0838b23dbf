/// The page that `/` answers with: the live picture, a panel of plots, and buttons.
///
/// One self-contained document: it names no other origin. Its addresses (`stream`, `snapshot`, `state`) are relative, so
/// that it works at any path of a reverse proxy.
///
/// It reads `result.viewer_page` of `state` once a second. Where `result.stream.clients_stat` lists the viewers with
/// their keys, as uStreamer's does, the page finds out there that its own stream has ended without a word.
enum ViewerPage {
    /// All that the document needs (Content Security Policy Level 3).
    static let contentSecurityPolicy =
        "default-src 'none'; img-src 'self' data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
        + "connect-src 'self'; base-uri 'none'; form-action 'none'"

    /// The whole document, UTF-8.
    static let html = #"""
        <!doctype html>
        <html lang="en">
        <head>
        \#(head)
        <style>
        \#(style)
        \#(layout)
        </style>
        <script>
        \#(themeScript)
        </script>
        </head>
        <body>
        \#(body)
        <script>
        (() => {
        'use strict';
        \#(plotScript)
        \#(viewScript)
        \#(connectionScript)
        \#(controlScript)
        })();
        </script>
        </body>
        </html>

        """#
}
