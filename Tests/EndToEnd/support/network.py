"""A network of the test's own: browsers and Janus do not use 127.0.0.1, and nothing that a test sends is to leave the
machine."""

import ctypes
import os
import subprocess

ADDRESS = "10.77.0.1"
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
_entered = False


def enter():
    """Moves this process, and all that it starts from here on, into a network with one address and no way out."""
    global _entered
    if _entered:
        return
    user, group = os.geteuid(), os.getegid()
    flags = CLONE_NEWNET | (CLONE_NEWUSER if user else 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "a network of its own needs root, or user namespaces")
    if user:
        for name, text in [("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")]:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    command("ip", "link", "set", "lo", "up")
    command("ip", "link", "add", "here", "type", "veth", "peer", "name", "there")
    command("ip", "addr", "add", f"{ADDRESS}/24", "dev", "here")
    for name in ("here", "there"):
        command("ip", "link", "set", name, "up")
    _entered = True


def command(*arguments):
    arguments = [str(argument) for argument in arguments]
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stdout}")


def drop(*conditions):
    """Drops the datagrams of UDP that fulfill conditions of nftables, in place of those of the last call."""
    drop_nothing()
    command("nft", "add", "table", "ip", "test")
    command("nft", "add", "chain", "ip", "test", "in", "{ type filter hook input priority 0; }")
    command("nft", "add", "rule", "ip", "test", "in", "meta", "l4proto", "udp", *conditions, "drop")


def drop_nothing():
    subprocess.run(["nft", "delete", "table", "ip", "test"], stderr=subprocess.DEVNULL, check=False)


def lose(percent):
    """Loses a part of all large datagrams, which are media, from here on."""
    drop("udp", "length", ">", 500, "numgen", "random", "mod", 100, "<", percent)


class Other:
    """Another machine on this network: programs that begin with the words of `prefix` run there. One at a time."""

    ADDRESS = "10.77.0.2"

    def __init__(self):
        self.process = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo ready; exec sleep infinity"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.prefix = [f"nsenter", f"--target={self.process.pid}", "--net"]
        command("ip", "link", "set", "there", "netns", self.process.pid)
        self.command("ip", "link", "set", "lo", "up")
        self.address = None
        self.move(self.ADDRESS)
        self.command("ip", "link", "set", "there", "up")

    def command(self, *arguments):
        command(*self.prefix, *arguments)

    def move(self, address):
        """Gives it another address, as a network of another place does."""
        if self.address:
            self.command("ip", "addr", "del", f"{self.address}/24", "dev", "there")
        self.command("ip", "addr", "add", f"{address}/24", "dev", "there")
        self.address = address

    def limit(self, kilobits):
        """Lets it send so much per second, through a queue that holds up to 400 ms of it."""
        self.command(
            "tc", "qdisc", "replace", "dev", "there", "root", "tbf", "rate", f"{kilobits}kbit", "burst", "16kb", "latency",
            "400ms")

    def close(self):
        # The cable's end goes with its namespace, and this end with it; so both are laid again.
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        subprocess.run(["ip", "link", "del", "here"], stderr=subprocess.DEVNULL, check=False)
        command("ip", "link", "add", "here", "type", "veth", "peer", "name", "there")
        command("ip", "addr", "add", f"{ADDRESS}/24", "dev", "here")
        for name in ("here", "there"):
            command("ip", "link", "set", name, "up")
