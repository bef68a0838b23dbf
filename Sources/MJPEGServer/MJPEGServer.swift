// MJPEGServer
