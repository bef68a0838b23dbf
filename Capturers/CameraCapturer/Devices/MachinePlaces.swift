/// Where a machine keeps what is to be known of its devices. Elsewhere in tests.
struct MachinePlaces: Sendable, Hashable {
    /// The kernel's list of video nodes.
    var videoClass: String
    /// The nodes themselves.
    var devices: String
    /// A folder for each process.
    var processes: String
    /// What udev has noted of each device, for everyone to read.
    var udevData: String
    /// The lists of users and groups.
    var settings: String
    /// The machine's maker and model.
    var firmware: String
    /// Files that are there in containers only.
    var containerMarks: [String]

    /// All of it below one folder; the empty name is the machine itself.
    init(root: String = "") {
        videoClass = root + "/sys/class/video4linux"
        devices = root + "/dev"
        processes = root + "/proc"
        udevData = root + "/run/udev/data"
        settings = root + "/etc"
        firmware = root + "/sys/class/dmi/id"
        containerMarks = [root + "/.dockerenv", root + "/run/.containerenv"]
    }
}
