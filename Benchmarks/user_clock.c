// Preloaded into a program in the guest: has it read the monotonic clock without a system call, as programs do on real
// machines, by the vDSO. User-Mode Linux has none that could; a processor's counter stands in, set by the kernel's clock
// each second.

#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static const long long second = 1000000000;

static double nanoseconds_per_tick;
static __thread long long set_to;
static __thread unsigned long long set_at;

static long long ask(clockid_t clock) {
    struct timespec time;
    syscall(SYS_clock_gettime, clock, &time);
    return time.tv_sec * second + time.tv_nsec;
}

__attribute__((constructor)) static void calibrate(void) {
    long long began = ask(CLOCK_MONOTONIC);
    unsigned long long ticks = __rdtsc();
    usleep(200000);
    nanoseconds_per_tick = (double)(ask(CLOCK_MONOTONIC) - began) / (__rdtsc() - ticks);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock != CLOCK_MONOTONIC) return syscall(SYS_clock_gettime, clock, time);
    long long passed = (__rdtsc() - set_at) * nanoseconds_per_tick;
    if (set_at == 0 || passed > second) {
        set_to = ask(clock);
        set_at = __rdtsc();
        passed = 0;
    }
    time->tv_sec = (set_to + passed) / second;
    time->tv_nsec = (set_to + passed) % second;
    return 0;
}
