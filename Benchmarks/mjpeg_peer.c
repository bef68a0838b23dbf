// Both ends of a comparison of MJPEG servers, on loopback.
//
//   mjpeg_peer feed FPS FILE...            A network camera: serves the JPEG files in turn, as multipart, to whoever asks.
//                                          Prints its port. Each picture carries the time of its capture in a comment.
//   mjpeg_peer pass CAMERA PORT            The least that a server can do for one viewer: what comes from port CAMERA is
//                                          received and sent, unread, to whoever connects to PORT first.
//   mjpeg_peer view HOST PORT PATH COUNT WARMUP SECONDS
//                                          COUNT viewers at once. Prints, of the SECONDS after all are connected and WARMUP
//                                          has passed: frames in all, the least and most of one viewer, bytes, and the 50th, 99th and 100th percentile of
//                                          the time from the capture to the last byte, in milliseconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char mark[] = "captured at ";
// FF FE, the length, the mark and 20 digits.
enum { COMMENT = 4 + sizeof mark - 1 + 20, HEAD = 2048 };

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "mjpeg_peer: %s: %s\n", what, strerror(errno));
    exit(1);
}

// MARK: feed

typedef struct {
    unsigned char *bytes;
    size_t count;
} picture;

static picture pictures[512];
static int picture_count;
static long long interval;

static int send_all(int socket, struct iovec *parts, int count) {
    while (count > 0) {
        ssize_t sent = writev(socket, parts, count);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return -1;
        while (count > 0 && (size_t)sent >= parts->iov_len) {
            sent -= parts->iov_len;
            parts++, count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + sent;
            parts->iov_len -= sent;
        }
    }
    return 0;
}

static void *serve(void *argument) {
    int socket = (int)(long)argument, one = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    char request[4096];
    if (read(socket, request, sizeof request) <= 0) goto end;
    static const char answer[] = "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\n\r\n--frame\r\n";
    struct iovec first = {(void *)answer, sizeof answer - 1};
    if (send_all(socket, &first, 1) < 0) goto end;
    long long due = now();
    for (int index = 0;; index = (index + 1) % picture_count) {
        due += interval;
        struct timespec time = {due / 1000000000LL, due % 1000000000LL};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
        picture *it = &pictures[index];
        char head[256], comment[COMMENT + 1];
        int length = COMMENT - 2;
        int count = snprintf(head, sizeof head, "Content-Type: image/jpeg\r\nContent-Length: %zu\r\n\r\n", it->count + COMMENT);
        comment[0] = (char)0xff, comment[1] = (char)0xfe, comment[2] = (char)(length >> 8), comment[3] = (char)length;
        snprintf(comment + 4, sizeof comment - 4, "%s%020lld", mark, now());
        struct iovec parts[] = {{head, count}, {it->bytes, 2}, {comment, COMMENT}, {it->bytes + 2, it->count - 2}, {"\r\n--frame\r\n", 11}};
        if (send_all(socket, parts, 5) < 0) break;
    }
end:
    close(socket);
    return NULL;
}

_Noreturn static void feed(int count, char **arguments) {
    interval = (long long)(1e9 / atof(arguments[0]));
    for (int index = 1; index < count && picture_count < 512; index++) {
        FILE *file = fopen(arguments[index], "rb");
        if (!file) die(arguments[index]);
        fseek(file, 0, SEEK_END);
        picture *it = &pictures[picture_count++];
        it->count = ftell(file);
        rewind(file);
        it->bytes = malloc(it->count);
        if (fread(it->bytes, 1, it->count, file) != it->count) die(arguments[index]);
        fclose(file);
    }
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 64) < 0) die("listen");
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        pthread_t thread;
        if (client >= 0 && pthread_create(&thread, NULL, serve, (void *)(long)client) == 0) pthread_detach(thread);
    }
}

// MARK: pass

static int pass(char **arguments) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), camera = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    address.sin_port = htons(atoi(arguments[1]));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 1) < 0) die("listen");
    int viewer = accept(listener, NULL, NULL);
    address.sin_port = htons(atoi(arguments[0]));
    if (connect(camera, (struct sockaddr *)&address, sizeof address) < 0) die("connect");
    setsockopt(viewer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    static char bytes[1 << 18];
    static const char request[] = "GET / HTTP/1.0\r\n\r\n";
    if (recv(viewer, bytes, sizeof bytes, 0) <= 0 || send(camera, request, sizeof request - 1, 0) < 0) return 1;
    for (;;) {
        ssize_t count = recv(camera, bytes, sizeof bytes, 0);
        if (count <= 0 || send(viewer, bytes, count, 0) != count) return 1;
    }
}

// MARK: view

typedef struct {
    int socket;
    char head[HEAD];
    size_t head_count;
    // Of the picture's bytes, those that are still to come.
    size_t left;
    long long captured;
    long frames;
} viewer;

static float *ages;
static size_t age_count, age_capacity;
static long long bytes_read, window_start, window_end;

static void end_frame(viewer *it) {
    long long time = now();
    if (time < window_start || time > window_end) return;
    it->frames++;
    if (it->captured && age_count < age_capacity) ages[age_count++] = (time - it->captured) / 1e6f;
}

// What has come of a head and the first bytes of its picture; true when the picture has begun.
static int parse(viewer *it) {
    char *end = memmem(it->head, it->head_count, "\r\n\r\n", 4);
    if (!end) {
        // No head of a part is that long: what is there is of no use.
        if (it->head_count == HEAD) it->head_count = 0;
        return 0;
    }
    *end = 0;
    char *field = strcasestr(it->head, "content-length:");
    size_t used = end + 4 - it->head;
    if (!field) {
        // The answer's own head.
        memmove(it->head, it->head + used, it->head_count -= used);
        return parse(it);
    }
    size_t length = strtoul(field + 15, NULL, 10), present = it->head_count - used;
    // The time is in the first bytes: wait for them.
    if (length > 0 && present < COMMENT + 2 + 20 && present < length) {
        *end = '\r';
        return 0;
    }
    char *found = memmem(it->head + used, present, mark, sizeof mark - 1);
    it->captured = found ? atoll(found + sizeof mark - 1) : 0;
    if (present >= length) {
        if (length > 0) end_frame(it);
        used += length;
        memmove(it->head, it->head + used, it->head_count -= used);
        return parse(it);
    }
    it->left = length - present;
    it->head_count = 0;
    return 1;
}

// False when the connection has ended.
static int take(viewer *it) {
    for (;;) {
        ssize_t count;
        if (it->left > 0) {
            // Dropped by the kernel, not copied: what is measured is the server.
            count = recv(it->socket, NULL, it->left, MSG_TRUNC | MSG_DONTWAIT);
            if (count > 0 && (it->left -= count) == 0) end_frame(it);
        } else {
            size_t room = HEAD - it->head_count;
            count = recv(it->socket, it->head + it->head_count, room < 512 ? room : 512, MSG_DONTWAIT);
            if (count > 0) {
                it->head_count += count;
                parse(it);
            }
        }
        if (count > 0) bytes_read += count;
        else return count < 0 && (errno == EAGAIN || errno == EINTR);
    }
}

static int by_size(const void *first, const void *second) {
    float difference = *(const float *)first - *(const float *)second;
    return difference < 0 ? -1 : difference > 0;
}

static int view(char **arguments) {
    int count = atoi(arguments[3]);
    double warmup = atof(arguments[4]), seconds = atof(arguments[5]);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    viewer *viewers = calloc(count, sizeof(viewer));
    ages = malloc((age_capacity = (size_t)(count * seconds * 70 + 1000)) * sizeof(float));
    int poll = epoll_create1(0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
    inet_pton(AF_INET, arguments[0], &address.sin_addr);
    char request[512];
    int request_count = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", arguments[2], arguments[0]);
    for (int index = 0; index < count; index++) {
        viewer *it = &viewers[index];
        it->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(it->socket, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) die("connect");
        struct epoll_event event = {.events = EPOLLOUT, .data.ptr = it};
        epoll_ctl(poll, EPOLL_CTL_ADD, it->socket, &event);
    }
    // Those that are connected read meanwhile, since a short queue of connections lets the last ones wait for long.
    long long patience = now() + 90000000000LL;
    window_start = window_end = patience;
    int lost = 0, connected = 0, has_begun = 0;
    while (now() < window_end) {
        struct epoll_event events[64];
        int ready = epoll_wait(poll, events, 64, 100);
        if (connected == count && window_end == patience) {
            window_start = now() + (long long)(warmup * 1e9);
            window_end = window_start + (long long)(seconds * 1e9);
        }
        if (!has_begun && now() >= window_start) {
            has_begun = 1;
            bytes_read = 0;
            // Whoever measures the server's time begins now.
            fprintf(stderr, "begin\n");
        }
        for (int index = 0; index < ready; index++) {
            viewer *it = events[index].data.ptr;
            if (events[index].events & EPOLLOUT) {
                if (write(it->socket, request, request_count) != request_count) die("connect");
                struct epoll_event event = {.events = EPOLLIN, .data.ptr = it};
                epoll_ctl(poll, EPOLL_CTL_MOD, it->socket, &event);
                connected++;
                continue;
            }
            if (take(it)) continue;
            close(it->socket);
            lost++;
        }
    }
    fprintf(stderr, "end\n");
    long all = 0, least = viewers[0].frames, most = 0;
    for (int index = 0; index < count; index++) {
        all += viewers[index].frames;
        if (viewers[index].frames < least) least = viewers[index].frames;
        if (viewers[index].frames > most) most = viewers[index].frames;
    }
    qsort(ages, age_count, sizeof(float), by_size);
    float none = 0, *sorted = age_count ? ages : &none;
    printf("{\"frames\": %ld, \"least\": %ld, \"most\": %ld, \"lost\": %d, \"bytes\": %lld, \"ages\": %zu, \"p50\": %.3f, \"p99\": %.3f, \"p100\": %.3f}\n",
           all, least, most, lost, bytes_read, age_count, sorted[age_count / 2], sorted[age_count * 99 / 100],
           sorted[age_count ? age_count - 1 : 0]);
    return 0;
}

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    if (count > 3 && strcmp(arguments[1], "feed") == 0) feed(count - 2, arguments + 2);
    if (count == 4 && strcmp(arguments[1], "pass") == 0) return pass(arguments + 2);
    if (count == 8 && strcmp(arguments[1], "view") == 0) return view(arguments + 2);
    fprintf(stderr, "mjpeg_peer feed FPS FILE... | pass CAMERA PORT | view HOST PORT PATH COUNT WARMUP SECONDS\n");
    return 64;
}
