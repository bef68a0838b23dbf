// Preloaded into another program, notes how old a camera's frames are, by the driver's timestamps:
// when the program takes them from the driver, and when it has last written anything before it takes the next.
// At its end it appends `taken|written COUNT P50 P99 LARGEST`, in milliseconds, to the file that FRAME_AGES names.
// Of the frames after the first three seconds, at 30 frames a second.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/videodev2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { SKIP = 90, LIMIT = 100000, LEAST_WRITE = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double taken[LIMIT], written[LIMIT];
static int taken_count, written_count, seen;
static double timestamp = -1, last_write = -1;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void end_frame(void) {
    if (last_write >= 0 && seen > SKIP && written_count < LIMIT) written[written_count++] = last_write - timestamp;
    last_write = -1;
}

static void note_frame(const struct v4l2_buffer *buffer) {
    double time = now();
    pthread_mutex_lock(&lock);
    end_frame();
    timestamp = buffer->timestamp.tv_sec * 1e3 + buffer->timestamp.tv_usec / 1e3;
    if (++seen > SKIP && taken_count < LIMIT) taken[taken_count++] = time - timestamp;
    pthread_mutex_unlock(&lock);
}

// Shorter ones wake threads.
static void note_write(int fd, ssize_t count) {
    if (fd <= 2 || count < LEAST_WRITE || timestamp < 0) return;
    double time = now();
    pthread_mutex_lock(&lock);
    last_write = time;
    pthread_mutex_unlock(&lock);
}

int ioctl(int fd, unsigned long request, ...) {
    static int (*real)(int, unsigned long, void *);
    if (!real) real = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int result = real(fd, request, argument);
    // Some programs keep the number in an int.
    if ((unsigned int)request == (unsigned int)VIDIOC_DQBUF && result == 0) note_frame(argument);
    return result;
}

ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    ssize_t result = real(fd, bytes, count);
    note_write(fd, result);
    return result;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    static ssize_t (*real)(int, const struct iovec *, int);
    if (!real) real = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
    ssize_t result = real(fd, parts, count);
    note_write(fd, result);
    return result;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(FILE *file, const char *name, double *ages, int count) {
    if (count == 0) return;
    qsort(ages, count, sizeof *ages, compare);
    fprintf(file, "%s %d %.3f %.3f %.3f\n", name, count, ages[(count - 1) / 2], ages[(count * 99 + 99) / 100 - 1],
        ages[count - 1]);
}

__attribute__((destructor)) static void finish(void) {
    const char *path = getenv("FRAME_AGES");
    FILE *file = path && seen ? fopen(path, "a") : NULL;
    if (!file) return;
    report(file, "taken", taken, taken_count);
    report(file, "written", written, written_count);
    fclose(file);
}
