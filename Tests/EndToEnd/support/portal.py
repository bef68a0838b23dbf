"""A desktop portal that does what a test says: a stand-in for the user, and for desktops that this machine has not.

    portal.py MODE NODE

NODE is the name of the PipeWire node that it shares; in the mode `mutter` it shares the monitor of that compositor, as the portal of
GNOME does. It appends each option that it is given to $HOME/portal.log.
"""

import os
import socket
import subprocess
import sys
import time

from gi.repository import Gio, GLib

MODE, NODE = sys.argv[1:]
INTERFACE = Gio.DBusNodeInfo.new_for_xml("""<node>
  <interface name="org.freedesktop.portal.ScreenCast">
    <method name="CreateSession"><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/></method>
    <method name="SelectSources">
      <arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/></method>
    <method name="Start"><arg type="o" direction="in"/><arg type="s" direction="in"/><arg type="a{sv}" direction="in"/>
      <arg type="o" direction="out"/></method>
    <method name="OpenPipeWireRemote">
      <arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="h" direction="out"/></method>
    <property name="version" type="u" access="read"/>
    <property name="AvailableSourceTypes" type="u" access="read"/>
    <property name="AvailableCursorModes" type="u" access="read"/>
  </interface></node>""").interfaces[0]


def node():
    listed = subprocess.run(["pw-cli", "ls", "Node"], capture_output=True, text=True).stdout
    number = 0
    for line in listed.splitlines():
        if line.lstrip().startswith("id "):
            number = int(line.split()[1].rstrip(","))
        if f'node.name = "{NODE}"' in line:
            return number
    return 0


def mutter(connection, path, interface, method, arguments=None):
    return connection.call_sync(
        "org.gnome.Mutter.ScreenCast", path, f"org.gnome.Mutter.ScreenCast{interface}", method, arguments, None, 0, -1, None)


def share_monitor(connection, share):
    """Has mutter cast its monitor, and calls `share` with the node."""
    session, = mutter(connection, "/org/gnome/Mutter/ScreenCast", "", "CreateSession", GLib.Variant("(a{sv})", ({},)))
    stream, = mutter(connection, session, ".Session", "RecordMonitor",
                     GLib.Variant("(sa{sv})", ("", {"cursor-mode": GLib.Variant("u", 1)})))
    connection.signal_subscribe(
        None, "org.gnome.Mutter.ScreenCast.Stream", "PipeWireStreamAdded", stream, None, 0,
        lambda _, __, ___, ____, _____, parameters: share(parameters.unpack()[0]))
    mutter(connection, session, ".Session", "Start")


def called(connection, sender, path, interface, method, arguments, invocation):
    options = arguments.unpack()[-1]
    with open(os.environ["HOME"] + "/portal.log", "a") as log:
        print(method, sorted(options.items()), file=log)
    who = sender[1:].replace(".", "_")
    session = f"/org/freedesktop/portal/desktop/session/{who}/capture"
    if method == "OpenPipeWireRemote":
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(os.environ["XDG_RUNTIME_DIR"] + "/pipewire-0")
        files = Gio.UnixFDList.new()
        files.append(peer.fileno())
        invocation.return_value_with_unix_fd_list(GLib.Variant("(h)", (0,)), files)
        if MODE == "revoke":
            # When the capture has begun, which the test says.
            def close():
                if not os.path.exists(os.environ["HOME"] + "/revoke"):
                    return True
                connection.emit_signal(sender, session, "org.freedesktop.portal.Session", "Closed",
                                       GLib.Variant("(a{sv})", ({},)))
                return False
            GLib.timeout_add(20, close)
        return
    if MODE == "strict" and "restore_token" in options:
        invocation.return_dbus_error("org.freedesktop.portal.Error.InvalidArgument", "Restore token is not a valid UUID")
        return
    if MODE == "silent":
        return
    if MODE == "gone" and method == "Start":
        os._exit(1)
    handle = f"/org/freedesktop/portal/desktop/request/{who}/{options['handle_token']}"
    if MODE == "waits" and method == "Start":
        return invocation.return_value(GLib.Variant("(o)", (handle,)))
    if MODE == "mutter" and method == "Start":
        def share(node):
            connection.emit_signal(sender, handle, "org.freedesktop.portal.Request", "Response", GLib.Variant(
                "(ua{sv})", (0, {"streams": GLib.Variant("a(ua{sv})", [(node, {})])})))
        invocation.return_value(GLib.Variant("(o)", (handle,)))
        return share_monitor(connection, share)
    results, code = {}, 0
    if method == "CreateSession":
        results["session_handle"] = GLib.Variant("s", session)
    if method == "Start":
        code = {"cancel": 1, "end": 2}.get(MODE, 0)
        streams = [] if MODE == "empty" else [(node(), {"source_type": GLib.Variant("u", 1)})]
        results["streams"] = GLib.Variant("a(ua{sv})", streams)
        results["restore_token"] = GLib.Variant("s", f"token-{time.time_ns()}")
    # Before the call's own answer, as a fast portal may.
    connection.emit_signal(sender, handle, "org.freedesktop.portal.Request", "Response",
                           GLib.Variant("(ua{sv})", (code, results)))
    invocation.return_value(GLib.Variant("(o)", (handle,)))


def read(connection, sender, path, interface, name):
    return GLib.Variant("u", {"version": 4, "AvailableSourceTypes": 0 if MODE == "no-screens" else 1 if MODE == "monitors" else 3,
                              "AvailableCursorModes": 7}[name])


def start(connection, name):
    connection.register_object("/org/freedesktop/portal/desktop", INTERFACE, called, read, None)


Gio.bus_own_name(Gio.BusType.SESSION, "org.freedesktop.portal.Desktop", Gio.BusNameOwnerFlags.NONE, start, None, None)
GLib.MainLoop().run()
