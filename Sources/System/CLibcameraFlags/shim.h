// Empty: libcamera's interface is C++, which CLibcamera alone calls. This module brings the flags of its pkg-config file, and
// builds without one too.
