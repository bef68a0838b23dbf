/// The page that `/recordings` answers with: days, a timeline with events, a player, and clips to save.
///
/// One self-contained document, as ``ViewerPage``. It reads `recordings/list` and plays `recordings/clip`.
enum RecordingsPage {
    /// All that the document needs (Content Security Policy Level 3).
    static let contentSecurityPolicy = ViewerPage.contentSecurityPolicy + "; media-src 'self'"

    /// The whole document, as ``ViewerPage/html``.
    static let html: String = {
        let files = [
            ("theme.js", PackageResources.theme_js), ("recordings.css", PackageResources.recordings_css),
            ("recordings.js", PackageResources.recordings_js),
        ]
        var html = String(decoding: PackageResources.recordings_html, as: UTF8.self)
        for (name, bytes) in files {
            html.replace("/* include: \(name) */\n", with: String(decoding: bytes, as: UTF8.self))
        }
        return html
    }()
}
