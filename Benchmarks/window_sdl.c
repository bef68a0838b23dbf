// The least that a program with SDL2 does to show a clip: the first 30 frames of a file of raw NV12, held in memory, paced.
//
//   window_sdl FILE WIDTH HEIGHT FPS RENDERER
//
// RENDERER is SDL's: opengl, or software; with `hint` after it, SDL_FRAMEBUFFER_ACCELERATION is 0, without which SDL puts
// "software" frames on the screen through an OpenGL texture. Runs until a signal ends it.
#include <SDL.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAMES = 30 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int fail(const char *what) {
    fprintf(stderr, "window_sdl: %s: %s\n", what, SDL_GetError());
    return 1;
}

int main(int count, char **arguments) {
    if (count < 6) return fail("usage: window_sdl FILE WIDTH HEIGHT FPS RENDERER [hint]");
    int width = atoi(arguments[2]), height = atoi(arguments[3]);
    double interval = 1.0 / atoi(arguments[4]);
    SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
    SDL_SetHint(SDL_HINT_RENDER_DRIVER, arguments[5]);
    if (count > 6) SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0");

    size_t size = (size_t)width * height * 3 / 2;
    uint8_t *frames = malloc(size * FRAMES);
    FILE *file = fopen(arguments[1], "rb");
    if (!file || fread(frames, size, FRAMES, file) != FRAMES) return fail("the clip is too short");
    fclose(file);

    if (SDL_Init(SDL_INIT_VIDEO)) return fail("SDL_Init");
    SDL_Window *window = SDL_CreateWindow("SDL", 0, 0, width, height, SDL_WINDOW_RESIZABLE);
    if (!window) return fail("SDL_CreateWindow");
    SDL_Renderer *renderer = SDL_CreateRenderer(window, -1, 0);
    if (!renderer) return fail("SDL_CreateRenderer");
    SDL_Texture *texture =
        SDL_CreateTexture(renderer, SDL_PIXELFORMAT_NV12, SDL_TEXTUREACCESS_STREAMING, width, height);
    if (!texture) return fail("SDL_CreateTexture");

    double begin = now();
    for (int number = 0;; number++) {
        uint8_t *frame = frames + number % FRAMES * size;
        SDL_UpdateNVTexture(texture, NULL, frame, width, frame + (size_t)width * height, width);
        SDL_RenderCopy(renderer, texture, NULL, NULL);
        SDL_RenderPresent(renderer);
        SDL_Event event;
        while (SDL_PollEvent(&event)) {
            if (event.type == SDL_QUIT) return 0;
        }
        double rest = begin + (number + 1) * interval - now();
        if (rest > 0) {
            struct timespec time = {(time_t)rest, (long)((rest - (time_t)rest) * 1e9)};
            nanosleep(&time, NULL);
        }
    }
}
