import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension CameraDevice {
    /// Why the user is not permitted to open a node, and the remedy.
    public struct Denial: Sendable, Hashable {
        /// The step that would permit it.
        public enum Remedy: Sendable, Hashable {
            /// Add the user to this group.
            case joinGroup(String)
            /// Log in again: the user has joined this group after logging in.
            case logInAgain(String)
            /// Give a group access to the node: it has none that a user should join.
            case openToGroup
            /// Allow the device in the container or sandbox, which forbids it whatever its permissions.
            case allowInContainer
        }

        /// The path of the node.
        public let path: String
        /// The user's name, or number where it has none.
        public let user: String
        /// The step that would permit it.
        public let remedy: Remedy
        /// The system's `errno`.
        let number: Int32

        init(path: String, user: String, remedy: Remedy, errno number: Int32) {
            self.path = path
            self.user = user
            self.remedy = remedy
            self.number = number
        }

        init(path: String, errno number: Int32, _ places: MachinePlaces = MachinePlaces()) {
            let userID = geteuid()
            // Not with getpwuid and getgrgid: those may block on a server.
            let users = UserList(places.settings + "/passwd")
            let groups = UserList(places.settings + "/group")
            self.path = path
            self.number = number
            user = users.name(of: userID) ?? "\(userID)"
            guard let status = FileReading.status(of: path), number != EPERM, userID != 0 else {
                // Permissions do not keep root out, and EPERM is not about them.
                remedy = .allowInContainer
                return
            }
            remedy = CameraDevice.Denial.remedy(
                user: user, mode: status.st_mode, group: status.st_gid, groups: groups,
                belongs: CameraDevice.Denial.belongs)
        }

        /// The remedy by the node's mode and group.
        static func remedy(
            user: String, mode: mode_t, group: gid_t, groups: UserList, belongs: (gid_t) -> Bool
        ) -> Remedy {
            // A user should not join the group of root.
            guard mode & 0o060 == 0o060, group != 0, !belongs(group) else { return .openToGroup }
            let name = groups.name(of: group) ?? "\(group)"
            return groups.members(of: group).contains(user) ? .logInAgain(name) : .joinGroup(name)
        }

        private static func belongs(to group: gid_t) -> Bool {
            if getegid() == group { return true }
            var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
            let count = getgroups(Int32(groups.count), &groups)
            return count > 0 && groups.prefix(Int(count)).contains(group)
        }

        /// The error for a program that wanted to open the node.
        var error: CaptureError {
            let next =
                switch remedy {
                case .joinGroup(let group):
                    "add the user \(user) to group \(group) (sudo usermod -aG \(group) \(user)), then log in again"
                case .logInAgain(let group):
                    "the user \(user) has joined group \(group) after logging in, so log in again"
                case .openToGroup:
                    "let a group in (sudo chgrp video \(path) && sudo chmod 660 \(path)), and add the user \(user) to it "
                        + "(sudo usermod -aG video \(user))"
                case .allowInContainer:
                    "the container or sandbox does not let its programs use it: start it with --device \(path)"
                }
            return CaptureError(
                .permissionDenied, operation: "open", subject: path, errno: number,
                message: "No permission to use the camera; \(next).")
        }

        /// The error for a node that the system has refused to open with this `errno`.
        static func permissionError(path: String, errno number: Int32) -> CaptureError {
            CameraDevice.Denial(path: path, errno: number).error
        }
    }
}

/// The lines of `/etc/passwd` or `/etc/group`: names, numbers and, for groups, members.
struct UserList {
    private var lines: [(name: String, number: UInt32, members: [String])] = []

    init(_ path: String) {
        for line in (FileReading.text(of: path, atMost: 1 << 20) ?? "").split(separator: "\n") {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count >= 3, let number = UInt32(fields[2]) else { continue }
            let members = fields.count == 4 ? fields[3].split(separator: ",").map(String.init) : []
            lines.append((String(fields[0]), number, members))
        }
    }

    func name(of number: UInt32) -> String? { lines.first { $0.number == number }?.name }

    func members(of number: UInt32) -> [String] { lines.first { $0.number == number }?.members ?? [] }
}
