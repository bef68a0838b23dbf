/// The page that `/` answers with: the live picture, a panel of plots, and buttons.
///
/// One self-contained document that names no other origin. Its addresses (`stream`, `snapshot`, `state`) are relative, so
/// that it works at any path of a reverse proxy.
///
/// It reads `result.viewer_page` of `state` once per second. Where `result.stream.clients_stat` lists the viewers with
/// their keys, as in uStreamer, the page detects there that the server has ended its stream.
enum ViewerPage {
    /// All that the document needs (Content Security Policy Level 3).
    static let contentSecurityPolicy =
        "default-src 'none'; img-src 'self' data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
        + "connect-src 'self'; base-uri 'none'; form-action 'none'"

    /// The whole document.
    static let html = document(
        PackageResources.viewer_html,
        [
            ("viewer.css", PackageResources.viewer_css), ("theme.js", PackageResources.theme_js),
            ("plots.js", PackageResources.plots_js), ("webrtc.js", PackageResources.webrtc_js),
            ("viewer.js", PackageResources.viewer_js), ("view.js", PackageResources.view_js),
        ])
}

/// The page that `/recordings` answers with: days, a timeline with events, a player, and clips to save.
///
/// One self-contained document, as ``ViewerPage``. It reads `recordings/list` and plays `recordings/clip`.
enum RecordingsPage {
    /// All that the document needs (Content Security Policy Level 3).
    static let contentSecurityPolicy = ViewerPage.contentSecurityPolicy + "; media-src 'self'"

    /// The whole document.
    static let html = document(
        PackageResources.recordings_html,
        [
            ("theme.js", PackageResources.theme_js), ("recordings.css", PackageResources.recordings_css),
            ("recordings.js", PackageResources.recordings_js),
        ])
}

/// A document with style sheets and scripts inserted at its `/* include: NAME */` lines. The build embeds these files into the
/// program (`PackageResources`), so that it needs no file at run time.
private func document(_ html: [UInt8], _ files: [(name: String, bytes: [UInt8])]) -> String {
    var result = String(decoding: html, as: UTF8.self)
    for (name, bytes) in files {
        result.replace("/* include: \(name) */\n", with: String(decoding: bytes, as: UTF8.self))
    }
    return result
}
