# A machine to develop on: Swift, and all that building and testing needs. CI does not build this image.
#
#   docker build --tag swift-video-capturing .
#   docker run --rm --interactive --tty --volume "$PWD:/work" swift-video-capturing make check
#
# A camera: --device /dev/video0. The screen: --env DISPLAY --volume /tmp/.X11-unix:/tmp/.X11-unix.
# The tests in the guest kernel need shared memory and ptrace: --shm-size 4g --cap-add SYS_PTRACE.
FROM swift:6.2-bookworm

RUN apt-get update && apt-get install --yes --no-install-recommends make
COPY scripts/setup /tmp/scripts/setup
RUN /tmp/scripts/setup --tests && rm -rf /tmp/scripts /var/lib/apt/lists/*
# The checkout belongs to another user than root.
RUN git config --system --add safe.directory /work
WORKDIR /work
CMD ["bash"]
