"""Peers on Pion, from Debian's packages."""

import pathlib
import subprocess

FOLDER = pathlib.Path(__file__).parent


def build(name, folder):
    """Compiles one of the programs here, and returns its path."""
    # The packages lie in a GOPATH, where the major version of an import is understood beside a go.mod only.
    source = folder / "go" / "src" / name
    source.mkdir(parents=True)
    (source / "main.go").write_bytes((FOLDER / f"{name}.go").read_bytes())
    (source / "go.mod").write_text(f"module {name}\n")
    program = folder / name
    subprocess.run(
        ["go", "build", "-o", program, "."], check=True, stdin=subprocess.DEVNULL, timeout=600, cwd=source,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "GO111MODULE": "off",
             "GOPATH": f"{folder / 'go'}:/usr/share/gocode"})
    return program
