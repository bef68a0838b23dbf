import Testing
import V4L2Support
import VideoCapturing

@testable import CameraCapturer

@Suite struct DeviceAccessTests {
    private let machine = FakeMachine()

    private func remedy(mode: UInt32 = 0o020660, group: UInt32 = 44, belongs: Bool = false)
        -> CameraDevice.Denial.Remedy
    {
        machine.write("/etc/group", "root:x:0:\nvideo:x:44:bea,cid\ndamaged\n:::::\ncams:x:70:")
        return CameraDevice.Denial.remedy(
            user: "ann", mode: mode, group: group, groups: UserList(machine.places.settings + "/group"),
            belongs: { _ in belongs })
    }

    @Test func namesTheGroupOfTheNode() {
        #expect(remedy() == .joinGroup("video"))
        #expect(remedy(group: 70) == .joinGroup("cams"))
        #expect(remedy(group: 71) == .joinGroup("71"))
    }

    @Test func doesNotSendAUserIntoTheGroupOfRoot() {
        #expect(remedy(group: 0) == .openToGroup)
        #expect(remedy(mode: 0o020600) == .openToGroup)
        #expect(remedy(belongs: true) == .openToGroup)
    }

    @Test func knowsWhoHasToLogInAgain() {
        machine.write("/etc/group", "video:x:44:bea,ann")
        let groups = UserList(machine.places.settings + "/group")
        #expect(
            CameraDevice.Denial.remedy(user: "ann", mode: 0o020660, group: 44, groups: groups, belongs: { _ in false })
                == .logInAgain("video"))
    }

    @Test func saysTheCommandToType() {
        let access = CameraDevice.Denial(path: "/dev/video0", user: "ann", remedy: .joinGroup("video"), errno: 13)
        #expect(
            access.error.message
                == "No permission to use the camera; add the user ann to group video (sudo usermod -aG video ann), "
                + "then log in again.")
        #expect(access.error.code == .permissionDenied)
    }
}
