/// The page that the server shows at `/`.
enum ViewerPage {
    /// One document with all that it needs in it.
    static let html = """
        <!doctype html><meta charset="utf-8"><title>Live picture</title>
        <img src="/stream" alt="Live picture">
        """
}
