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
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stdout}")


def lose(percent):
    """Loses a part of all large datagrams, which are media, from here on; 0 for none."""
    subprocess.run(["nft", "delete", "table", "ip", "loss"], stderr=subprocess.DEVNULL, check=False)
    if not percent:
        return
    command("nft", "add", "table", "ip", "loss")
    command("nft", "add", "chain", "ip", "loss", "in", "{ type filter hook input priority 0; }")
    command("nft", "add", "rule", "ip", "loss", "in", "udp", "length", ">", "500", "numgen", "random", "mod", "100", "<",
            str(percent), "drop")


def block_direct(port):
    """Drops all datagrams but those from and to a port: those of a relay."""
    command("nft", "add", "table", "ip", "direct")
    command("nft", "add", "chain", "ip", "direct", "in", "{ type filter hook input priority 0; }")
    command("nft", "add", "rule", "ip", "direct", "in", "meta", "l4proto", "udp", "udp", "sport", "!=", str(port), "udp",
            "dport", "!=", str(port), "drop")
