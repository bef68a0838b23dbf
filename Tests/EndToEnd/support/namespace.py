"""A network namespace of the test's own, with one address that is not loopback's, where it runs programs: browsers make no
WebRTC connections over loopback, and nothing that is blocked here is blocked elsewhere."""

import os
import subprocess

ADDRESS = "10.77.0.1"
SETUP = f"""
ip link set lo up
ip link add v0 type veth peer name v1
ip addr add {ADDRESS}/24 dev v0
ip link set v0 up
ip link set v1 up
echo ready
exec sleep infinity
"""


class Namespace:
    def __init__(self):
        # Without root, a user namespace gives the right to make it.
        self.own = ["--user", "--map-root-user"] if os.geteuid() else []
        self.process = subprocess.Popen(
            ["unshare", *self.own, "--net", "sh", "-ec", SETUP], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            self.process.wait()
            raise RuntimeError("no network namespace can be made; run the tests as root, or allow user namespaces")

    @property
    def prefix(self):
        """The words before a command that run it inside."""
        entered = ["--user", "--preserve-credentials"] if self.own else []
        return ["nsenter", f"--target={self.process.pid}", *entered, "--net"]

    def run(self, *command):
        subprocess.run([*self.prefix, *command], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def block_udp(self):
        self.run("nft", "add table inet block")
        self.run("nft", "add chain inet block in { type filter hook input priority 0 ; }")
        self.run("nft", "add rule inet block in meta l4proto udp drop")

    def unblock_udp(self):
        self.run("nft", "delete table inet block")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
