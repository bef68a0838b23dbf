import Testing
import VideoCapturing

/// Names and passwords in URLs.
@Suite struct UserInfoTests {
    @Test(arguments: [
        ("rtsp://cam:554/1", "rtsp://bob:p%40%2F%3A@cam:554/1"),
        ("rtsp://eve:x@cam/1", "rtsp://bob:p%40%2F%3A@cam/1"),
        ("rtsp://eve@[::1]:554/1?a=b@c", "rtsp://bob:p%40%2F%3A@[::1]:554/1?a=b@c"),
        ("rtsp://[::1]/1", "rtsp://bob:p%40%2F%3A@[::1]/1"),
        ("http://gw/api?src=rtsp://a:b@cam/1", "http://bob:p%40%2F%3A@gw/api?src=rtsp://a:b@cam/1"),
        ("http://gw:80?src=rtsp://a:b@cam/1&c=//d:e@f", "http://bob:p%40%2F%3A@gw:80?src=rtsp://a:b@cam/1&c=//d:e@f"),
        // Not to a host that is called like the user.
        ("rtsp://eve:x/y?z@cam/1", "rtsp://bob:p%40%2F%3A@cam/1"),
    ])
    func aLoginIsAddedBeforeTheHost(url: String, result: String) {
        let added = addingUserInfo("bob", "p@/:", to: url)
        #expect(added == result)
        #expect(hasUserInfo(added))
        #expect(addingUserInfo("bob", "p@/:", to: added) == result)
        #expect(!hasUserInfo(removingUserInfo(from: url)))
        #expect(hasUserInfo(url) == url.contains("eve"))
        #expect(!maskingUserInfo(in: added).contains("bob"))
    }

    @Test func whatIsNoURLStays() {
        for text in ["film.mkv", "/a@b/c", "", "a://", "@"] {
            #expect(removingUserInfo(from: text) == text && !hasUserInfo(text))
        }
    }
}
