import VideoCapturing

/// The help: one screen, written by hand and ordered by task. A test checks that it names every option.
enum HelpText {
    static func text(_ catalog: CapturerCatalog) -> String {
        let sources = catalog.names.joined(separator: ", ")
        return """
            capturer-demo: captures video, writes it to files and serves it to browsers.
              capturer-demo --source noise           to capture.webm, until Ctrl-C
              capturer-demo --source camera --preset 352x288 --fps 30
              capturer-demo --source screen --window firefox -o a.webm -o a.y4m
              capturer-demo --input clip.mp4 --fps max -o clip.webm
              capturer-demo --input http://host/stream --login @login.txt --serve 8080
              capturer-demo list [--modes --controls]  sources; cameras with modes; screens, windows
              capturer-demo doctor [--json]          what this machine can do, and how to fix it

            Source
              --source NAME             \(sources); noise without it
              --input PATH|URL          any video or image file; - is standard input; a network
                                        camera's URL; --login NAME:PW|@FILE; --ca-file PEM, --insecure
              --preset, --size SIZE     640x480, or a name: cif, vga, 720p, 1080p, 4k …
              --fps RATE                30, 12.5, 30000/1001, or max for as fast as possible
              --pixel-format, --seed    nv12, i420, argb; the seed of the noise
              --device, --control       the camera, by path or name; brightness=128, repeatable
              --capture-format FORMAT   the camera's own: NV12, YUYV, MJPG …; the best without it
              --keep-rate, --explain    keeps its rate in low light; prints how its mode was chosen
              --display, --monitor NAME the X display, such as :0; one monitor of it, or primary
              --window ID|TITLE|click   one window; --region X,Y,WxH a part; --no-cursor
              --rate, --loop, --start, --end  of a file: 0.5 is half speed; the part in seconds
              --orientation, --content-hint  0, 90, 180, 270; none, motion, detail, text
            Output
              --frames, --duration N    ends after N frames; after N seconds, such as 2.5
              -o, --output PATH         .webm .ivf (VP8) .y4m .yuv .nv12 .md5; null; md5; - is
                                        WebM to standard output, y4m:- another format; repeatable
              --serve [ADDRESS:]PORT    live to browsers; --jpeg-quality 80; --serve-login NAME:PW, or
                                        @FILE with it; https by --serve-certificate, --serve-key;
                                        --drop-same-frames 29 leaves out unchanged frames
              -f, --force, --keep-going overwrites files; goes on when one fails or stalls for 5 s
              --bitrate BITS            per second: 800k, 1.5M; by size and rate without it
              --keyframe-interval TIME  seconds (2) or frames (60f); --threads 1 to 64, or auto
            Watching
              --preview, -q, --quiet    shows frames in the terminal; prints errors only
              --stats STYLE             text, json (one object per line, on standard error), none
              -h, --help, --version

            Exit codes: 0 done, 64 usage, 66 no such input, 69 library missing, 74 input or output
            failed, 75 device busy, 77 not allowed, 130 interrupted twice.
            """
    }
}
