// A vendor's plug-in of libv4l2, as v4l-utils describes it in libv4l-plugin.h: passes calls on, and writes down how many
// pictures were taken through it. PLUGIN_LOG names the file; without PLUGIN_TAKES it declines every node.

#include <libv4l-plugin.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void note(const char *what, long count) {
    FILE *file = fopen(getenv("PLUGIN_LOG"), "a");
    if (!file) return;
    fprintf(file, "%s %ld\n", what, count);
    fclose(file);
}

static void *take(int fd) {
    (void)fd;
    int takes = getenv("PLUGIN_TAKES") != NULL;
    note(takes ? "taken" : "declined", 0);
    return takes ? calloc(1, sizeof(long)) : NULL;
}

static void let_go(void *dequeued) {
    note("dequeued", *(long *)dequeued);
    free(dequeued);
}

static int pass_on(void *dequeued, int fd, unsigned long request, void *argument) {
    int result = syscall(SYS_ioctl, fd, request, argument);
    if (request == VIDIOC_DQBUF && result == 0) ++*(long *)dequeued;
    return result;
}

static ssize_t take_bytes(void *dequeued, int fd, void *buffer, size_t count) {
    (void)dequeued;
    return read(fd, buffer, count);
}

static ssize_t give_bytes(void *dequeued, int fd, const void *buffer, size_t count) {
    (void)dequeued;
    return write(fd, buffer, count);
}

const struct libv4l_dev_ops libv4l2_plugin = {
    .init = take, .close = let_go, .ioctl = pass_on, .read = take_bytes, .write = give_bytes};
