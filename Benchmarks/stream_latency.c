// Both ends of a measurement of latency: makes numbered pictures, and reads their numbers from a screen.
//
//   stream_latency source WIDTH HEIGHT FPS LOG y4m|raw    I420 pictures at their times, to standard output, for ever; LOG gets
//                                                         the time of each, taken before it is written
//   stream_latency view LOG WARM_UP SECONDS               looks at the top left of the screen about 2,000 times a second, and
//                                                         prints the milliseconds from source to screen of each picture of
//                                                         the time after the warm-up, then `unseen COUNT`
//
// The number stands in 16 blocks of 32×32 pixels, the lowest bit first, bright or dark.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>

enum { BITS = 16, BLOCK = 32, BRIGHT = 220, DARK = 30, MOST = 1 << BITS };

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void sleep_until(int64_t time) {
    struct timespec end = {time / 1000000000, time % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {}
}

static int fail(const char *what) {
    fprintf(stderr, "stream_latency: %s: %s\n", what, strerror(errno));
    return 1;
}

static int write_all(const void *bytes, size_t count) {
    for (const char *next = bytes; count > 0;) {
        ssize_t written = write(STDOUT_FILENO, next, count);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return -1;
        next += written;
        count -= (size_t)written;
    }
    return 0;
}

static int source(int width, int height, int fps, const char *path, int is_y4m) {
    FILE *log = fopen(path, "w");
    size_t size = (size_t)width * height * 3 / 2;
    uint8_t *picture = malloc(size);
    if (!log || !picture || width < BITS * BLOCK || height < BLOCK) return fail(path);
    setvbuf(log, NULL, _IOLBF, 0);
    // So that a whole picture fits, and no reader delays the next.
    fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 1 << 20);
    char header[100];
    int length = snprintf(header, sizeof header, "YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 C420jpeg\n", width, height, fps);
    if (is_y4m && write_all(header, (size_t)length)) return 0;
    memset(picture + width * height, 128, size - (size_t)width * height);
    int64_t begin = now();
    for (int number = 0; number < MOST; number++) {
        sleep_until(begin + number * 1000000000ll / fps);
        // A pattern that moves, as a camera's picture does.
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) picture[y * width + x] = 60 + ((x + y + number) & 63);
        for (int bit = 0; bit < BITS; bit++)
            for (int y = 0; y < BLOCK; y++)
                memset(picture + y * width + bit * BLOCK, number >> bit & 1 ? BRIGHT : DARK, BLOCK);
        fprintf(log, "%d %lld\n", number, (long long)now());
        if ((is_y4m && write_all("FRAME\n", 6)) || write_all(picture, size)) return 0;
    }
    return 0;
}

static int view(const char *path, double warm_up, double seconds) {
    xcb_connection_t *display = xcb_connect(NULL, NULL);
    if (xcb_connection_has_error(display)) return fail("no display");
    xcb_screen_t *screen = xcb_setup_roots_iterator(xcb_get_setup(display)).data;
    int memory = shmget(IPC_PRIVATE, BITS * BLOCK * 4, IPC_CREAT | 0600);
    const uint8_t *pixels = shmat(memory, NULL, 0);
    xcb_shm_seg_t segment = xcb_generate_id(display);
    xcb_shm_attach(display, segment, (uint32_t)memory, 0);
    free(xcb_get_input_focus_reply(display, xcb_get_input_focus(display), NULL));
    shmctl(memory, IPC_RMID, NULL);
    static int64_t seen[MOST];
    int64_t begin = now() + (int64_t)(warm_up * 1e9), end = begin + (int64_t)(seconds * 1e9);
    int last = -1;
    // Pictures of the last moment get a second to arrive.
    while (now() < end + 1000000000) {
        xcb_shm_get_image_reply_t *reply = xcb_shm_get_image_reply(
            display,
            xcb_shm_get_image(
                display, screen->root, 0, BLOCK / 2, BITS * BLOCK, 1, ~0u, XCB_IMAGE_FORMAT_Z_PIXMAP, segment, 0),
            NULL);
        if (!reply) return fail("the screen is gone");
        free(reply);
        int number = 0, is_readable = 1;
        for (int bit = 0; bit < BITS; bit++) {
            int green = pixels[(bit * BLOCK + BLOCK / 2) * 4 + 1];
            if (green > 170) number |= 1 << bit;
            // Neither bright nor dark, or no picture at all.
            else if (green > 80 || green < 5) is_readable = 0;
        }
        if (is_readable && number != last) {
            last = number;
            if (!seen[number]) seen[number] = now();
        }
        usleep(300);
    }
    FILE *log = fopen(path, "r");
    if (!log) return fail(path);
    int number, unseen = 0;
    long long time;
    while (fscanf(log, "%d %lld", &number, &time) == 2) {
        if (number < 0 || number >= MOST || time < begin || time >= end) continue;
        if (seen[number]) printf("%.3f\n", (double)(seen[number] - time) / 1e6);
        else unseen++;
    }
    printf("unseen %d\n", unseen);
    return 0;
}

int main(int count, char **words) {
    if (count == 7 && !strcmp(words[1], "source"))
        return source(atoi(words[2]), atoi(words[3]), atoi(words[4]), words[5], !strcmp(words[6], "y4m"));
    if (count == 5 && !strcmp(words[1], "view")) return view(words[2], atof(words[3]), atof(words[4]));
    fprintf(stderr, "usage: see the first lines of stream_latency.c\n");
    return 64;
}
