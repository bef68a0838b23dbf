// One library that is loaded at the first call of any of its functions; see scripts/lazy-libraries.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/// A function: its address, which is at first that of the code that finds it; and its name.
struct lazy_function {
    void *address;
    const char *name;
};

/// Finds a function, and keeps its address. It may run on several threads at once: all find the same.
__attribute__((used)) static void *lazy_find(struct lazy_function *function) {
    // Global, since libraries look for each other's symbols too. It stays for good.
    void *library = dlopen(SONAME, RTLD_NOW | RTLD_GLOBAL);
    void *address = library ? dlsym(library, function->name) : NULL;
    if (!address) {
        fprintf(stderr, "error: %s cannot be used: %s. Install the package that has it again.\n", SONAME, dlerror());
        // A recording is closed by the main thread.
        if (getpid() != gettid() && kill(getpid(), SIGTERM) == 0) sleep(10);
        _exit(69);
    }
    __atomic_store_n(&function->address, address, __ATOMIC_RELEASE);
    return address;
}

// A call goes through the address of its function. At first that is code which keeps all registers that may have arguments,
// asks lazy_find, and goes on to the function, as if it had been called at once.
#if defined(__x86_64__)
__asm__(".text\n"
        ".type lazy_call, @function\n"
        "lazy_call:\n"
        "  pushq %rbp\n  movq %rsp, %rbp\n"
        "  pushq %rax\n  pushq %rdi\n  pushq %rsi\n  pushq %rdx\n  pushq %rcx\n  pushq %r8\n  pushq %r9\n  pushq %r10\n"
        "  subq $128, %rsp\n"
        "  movups %xmm0, (%rsp)\n  movups %xmm1, 16(%rsp)\n  movups %xmm2, 32(%rsp)\n  movups %xmm3, 48(%rsp)\n"
        "  movups %xmm4, 64(%rsp)\n  movups %xmm5, 80(%rsp)\n  movups %xmm6, 96(%rsp)\n  movups %xmm7, 112(%rsp)\n"
        "  movq %r11, %rdi\n"
        "  call lazy_find\n"
        "  movq %rax, %r11\n"
        "  movups (%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n  movups 32(%rsp), %xmm2\n  movups 48(%rsp), %xmm3\n"
        "  movups 64(%rsp), %xmm4\n  movups 80(%rsp), %xmm5\n  movups 96(%rsp), %xmm6\n  movups 112(%rsp), %xmm7\n"
        "  addq $128, %rsp\n"
        "  popq %r10\n  popq %r9\n  popq %r8\n  popq %rcx\n  popq %rdx\n  popq %rsi\n  popq %rdi\n  popq %rax\n  popq %rbp\n"
        "  jmp *%r11\n"
        ".size lazy_call, .-lazy_call\n");
#define LAZY_CODE(name)                                                                                                  \
    #name ":\n  jmpq *lazy_data_" #name "(%rip)\n"                                                                       \
    "lazy_first_" #name ":\n  leaq lazy_data_" #name "(%rip), %r11\n  jmp lazy_call\n"
#elif defined(__aarch64__)
__asm__(".text\n"
        ".type lazy_call, %function\n"
        "lazy_call:\n"
        "  stp x29, x30, [sp, #-224]!\n  mov x29, sp\n"
        "  stp x0, x1, [sp, #16]\n  stp x2, x3, [sp, #32]\n  stp x4, x5, [sp, #48]\n  stp x6, x7, [sp, #64]\n"
        "  str x8, [sp, #80]\n"
        "  stp q0, q1, [sp, #96]\n  stp q2, q3, [sp, #128]\n  stp q4, q5, [sp, #160]\n  stp q6, q7, [sp, #192]\n"
        "  mov x0, x16\n"
        "  bl lazy_find\n"
        "  mov x16, x0\n"
        "  ldp q0, q1, [sp, #96]\n  ldp q2, q3, [sp, #128]\n  ldp q4, q5, [sp, #160]\n  ldp q6, q7, [sp, #192]\n"
        "  ldp x0, x1, [sp, #16]\n  ldp x2, x3, [sp, #32]\n  ldp x4, x5, [sp, #48]\n  ldp x6, x7, [sp, #64]\n"
        "  ldr x8, [sp, #80]\n"
        "  ldp x29, x30, [sp], #224\n"
        "  br x16\n"
        ".size lazy_call, .-lazy_call\n");
#define LAZY_CODE(name)                                                                                                  \
    #name ":\n  adrp x16, lazy_data_" #name "\n  ldr x17, [x16, :lo12:lazy_data_" #name "]\n  br x17\n"                  \
    "lazy_first_" #name ":\n  adrp x16, lazy_data_" #name "\n  add x16, x16, :lo12:lazy_data_" #name "\n  b lazy_call\n"
#endif

// Each in separate sections, of which the linker keeps those that are called.
#define LAZY(name)                                                                                                       \
    __asm__(".section .text.lazy." #name ",\"ax\",%progbits\n.globl " #name "\n.hidden " #name "\n"                      \
            ".type " #name ", %function\n"                                                                               \
            LAZY_CODE(name) ".size " #name ", .-" #name "\n"                                                             \
            ".section .rodata.lazy." #name ",\"a\",%progbits\nlazy_name_" #name ": .asciz \"" #name "\"\n"               \
            ".section .data.lazy." #name ",\"aw\",%progbits\n.balign 8\n"                                                \
            "lazy_data_" #name ": .quad lazy_first_" #name ", lazy_name_" #name "\n");
