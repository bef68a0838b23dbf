#ifndef CALSA_SHIM_H
#define CALSA_SHIM_H

#include <alsa/asoundlib.h>

static void calsa_ignore(const char *file, int line, const char *function, int error, const char *format, ...) {
    (void)file, (void)line, (void)function, (void)error, (void)format;
}

// The library prints its errors on standard error otherwise; they are returned as well. A variadic handler cannot be
// written in Swift.
static inline void calsa_silence(void) { snd_lib_error_set_handler(calsa_ignore); }

// Structures whose size only the library knows.
static inline snd_pcm_hw_params_t *calsa_make_hw_params(void) {
    snd_pcm_hw_params_t *params = NULL;
    return snd_pcm_hw_params_malloc(&params) < 0 ? NULL : params;
}

static inline snd_pcm_sw_params_t *calsa_make_sw_params(void) {
    snd_pcm_sw_params_t *params = NULL;
    return snd_pcm_sw_params_malloc(&params) < 0 ? NULL : params;
}

static inline snd_pcm_status_t *calsa_make_status(void) {
    snd_pcm_status_t *status = NULL;
    return snd_pcm_status_malloc(&status) < 0 ? NULL : status;
}

// The time of a status in nanoseconds.
static inline int64_t calsa_status_time(const snd_pcm_status_t *status) {
    snd_htimestamp_t time;
    snd_pcm_status_get_htstamp(status, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#endif
