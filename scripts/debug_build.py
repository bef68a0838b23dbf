"""Compiles programs against the debug build, as a user's package would: they see its public declarations only."""

import json
import pathlib
import shlex
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout


def folder():
    return pathlib.Path(output("swift", "build", "--show-bin-path").strip())


def compiler(work):
    """The compiler and the arguments that all programs need. `work` is a folder for its modules."""
    built = folder()
    maps = [*ROOT.glob("Sources/*/*/module.modulemap"), *built.glob("*.build/module.modulemap"),
            *ROOT.glob(".build/checkouts/*/Sources/*/include/module.modulemap")]
    flags = [f"-fmodule-map-file={map}" for map in maps] + output(
        "pkg-config", "--cflags-only-I", "dbus-1", "nice", "libpipewire-0.3").split()
    toolchain = pathlib.Path(shutil.which("swiftc")).resolve().parent.parent
    return ["swiftc", "-swift-version", "6", "-I", built / "Modules", "-module-cache-path", work / "modules",
            "-plugin-path", toolchain / "lib/swift/host/plugins/testing",
            *(word for flag in flags for word in ("-Xcc", flag))]


def linked():
    """The arguments that link all that the tool stands on, and the test kit."""
    built = folder()
    is_ours = '"-emit-executable"', "/capturer-demo.product/Objects.LinkFileList"
    lines = (built.parent.parent / "debug.yaml").read_text().splitlines()
    command = next(line for line in lines if all(part in line for part in is_ours))
    libraries = [word for word in json.loads(command.partition("args:")[2]) if word.startswith(("-l", "-L/"))]

    def objects(product, is_wanted):
        return filter(is_wanted, shlex.split((built / f"{product}.product/Objects.LinkFileList").read_text()))

    return [*objects("capturer-demo", lambda name: "/capturer_demo.build/" not in name),
            *objects("swift-video-capturingPackageTests", lambda name: "/CapturerTestKit.build/" in name), *libraries]
