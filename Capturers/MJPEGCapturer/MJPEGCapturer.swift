// MJPEGCapturer
