void cjpeg_placeholder(void) {}
