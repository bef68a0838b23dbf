// See CLibcamera.h. Compiled against libcamera 0.0.3 here; written for 0.3 to 0.7 too, which differ where LIBCAMERA_VERSION is
// asked.
#include "CLibcamera.h"

#include <cerrno>

#if __has_include(<libcamera/libcamera.h>)

#include <libcamera/libcamera.h>
#include <libcamera/logging.h>
#include <libcamera/version.h>
#include <dirent.h>
#include <linux/dma-buf.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

using namespace libcamera;

#define LC_TEXT(x) #x
#define LC_VERSION_TEXT(major, minor, patch) LC_TEXT(major) "." LC_TEXT(minor) "." LC_TEXT(patch)
#define LC_AT_LEAST(major, minor) \
    (LIBCAMERA_VERSION_MAJOR > (major) || (LIBCAMERA_VERSION_MAJOR == (major) && LIBCAMERA_VERSION_MINOR >= (minor)))

namespace {

template <typename Body> int guarded(Body body) noexcept {
    // No exception may leave C++: libcamera throws none of its own, but memory may be short.
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    } catch (...) {
        return -EIO;
    }
}

void copyText(const std::string &text, char *to, size_t capacity) {
    std::snprintf(to, capacity, "%s", text.c_str());
}

// One for the process; never destroyed, because other threads may use it while the process ends.
struct Manager {
    std::mutex mutex;
    // Held while the manager is used.
    std::mutex use;
    CameraManager *manager = nullptr;

    int start() {
        std::lock_guard<std::mutex> lock(mutex);
        if (manager) return 0;
        // A library does not write to the terminal of a user, unless they ask for it.
        if (!std::getenv("LIBCAMERA_LOG_LEVELS") && !std::getenv("LIBCAMERA_LOG_FILE")) logSetTarget(LoggingTargetNone);
        auto *made = new CameraManager;
        if (int error = made->start()) {
            delete made;
            return error;
        }
        manager = made;
        return 0;
    }

    // Ends libcamera, for the next use to start it again.
    void restart() {
        std::lock_guard<std::mutex> uses(use);
        std::lock_guard<std::mutex> lock(mutex);
        delete manager;
        manager = nullptr;
    }
};

// Descriptors of devices that have gone, which sessions have left open.
std::set<int> &abandoned() {
    static auto *numbers = new std::set<int>;
    return *numbers;
}

// The open descriptors of nodes of media that were deleted. libcamera states no nodes before 0.1.
std::set<int> deletedNodes() {
    std::set<int> found;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return found;
    while (dirent *entry = readdir(folder)) {
        char target[64];
        ssize_t count = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        if (count <= 0) continue;
        target[count] = 0;
        bool isMedia = !std::strncmp(target, "/dev/video", 10) || !std::strncmp(target, "/dev/media", 10);
        if (isMedia && std::strstr(target, " (deleted)")) found.insert(std::atoi(entry->d_name));
    }
    closedir(folder);
    return found;
}

// Guards `abandoned`, and the count of sessions.
std::mutex sessionsMutex;
int sessions = 0;

bool hasVanished() {
    auto deleted = deletedNodes();
    std::lock_guard<std::mutex> lock(sessionsMutex);
    return !std::includes(abandoned().begin(), abandoned().end(), deleted.begin(), deleted.end());
}

Manager &shared() {
    static Manager *manager = new Manager;
    return *manager;
}

template <typename Value, typename Key> Value valueOr(const ControlList &list, const Key &key, Value standard) {
    // An optional since 0.0.1; of a type that differs from `Value` in some versions.
    auto found = list.get(key);
    return found ? Value(*found) : standard;
}

double number(const ControlValue &value) {
    if (value.isArray()) return 0;
    switch (value.type()) {
    case ControlTypeBool: return value.get<bool>();
    case ControlTypeByte: return value.get<uint8_t>();
    case ControlTypeInteger32: return value.get<int32_t>();
    case ControlTypeInteger64: return double(value.get<int64_t>());
    case ControlTypeFloat: return value.get<float>();
    default: return 0;
    }
}

char kind(const ControlId *id, const ControlInfo &info) {
    if (info.def().isArray() || info.min().isArray()) return 'x';
#if LC_AT_LEAST(0, 4)
    if (id->isArray()) return 'x';
#endif
    switch (id->type()) {
    case ControlTypeBool: return 'b';
    case ControlTypeInteger32:
    case ControlTypeInteger64: return 'i';
    case ControlTypeFloat: return 'f';
    default: return 'x';
    }
}

// The signals of a camera, connected once for as long as libcamera has it: disconnecting while a signal comes is not safe.
struct Hub {
    std::weak_ptr<Camera> camera;
    std::mutex mutex;
    // Behind the mutex; null while no session has the camera.
    lc_session *session = nullptr;

    void onCompleted(Request *request);
    void onDisconnected();

    // The hub of a camera. One is left behind each time that a camera is unplugged.
    static Hub &of(const std::shared_ptr<Camera> &camera);
};

} // namespace

struct lc_session {
    std::shared_ptr<Camera> camera;
    Hub *hub = nullptr;
    std::unique_ptr<CameraConfiguration> configuration;
    std::unique_ptr<FrameBufferAllocator> allocator;
    std::vector<std::unique_ptr<Request>> requests;
    Stream *stream = nullptr;
    ControlList pending{controls::controls};
    int event = -1;
    bool isRunning = false;
    // The device has gone. libcamera before 0.2 ends the process when such a camera is stopped.
    bool isLost = false;

    std::mutex mutex;
    // Behind the mutex. A ring of the indices of completed buffers; it never holds more than there are buffers.
    std::vector<int> completed;
    size_t first = 0, count = 0;
    bool hasGone = false;

    ~lc_session() {
        stop();
        if (hub) {
            std::lock_guard<std::mutex> lock(hub->mutex);
            hub->session = nullptr;
        }
        if (camera) {
            requests.clear();
            allocator.reset();
            configuration.reset();
            camera->release();
            std::lock_guard<std::mutex> lock(sessionsMutex);
            sessions--;
        }
        if (event >= 0) ::close(event);
    }

    void wake() {
        uint64_t one = 1;
        // A full counter is readable already.
        (void)!write(event, &one, sizeof one);
    }

    void didComplete(Request *request) {
        {
            std::lock_guard<std::mutex> lock(mutex);
            if (count == completed.size()) return;
            completed[(first + count) % completed.size()] = int(request->cookie());
            count++;
        }
        wake();
    }

    void didDisconnect() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            hasGone = true;
        }
        wake();
    }

    int stop() {
        if (!isRunning) return 0;
        isRunning = false;
        isLost = isLost || hasVanished();
        int result = isLost ? -ENODEV : camera->stop();
        std::lock_guard<std::mutex> lock(mutex);
        first = count = 0;
        return result;
    }

    bool setNumber(uint32_t id, double value) {
        const ControlInfoMap &infos = camera->controls();
        auto found = infos.find(id);
        if (found == infos.end()) return false;
        const ControlId *control = found->first;
        if (kind(control, found->second) == 'x') return false;
        switch (control->type()) {
        case ControlTypeBool: pending.set(id, ControlValue(value != 0)); return true;
        case ControlTypeInteger32: pending.set(id, ControlValue(int32_t(value))); return true;
        case ControlTypeInteger64: pending.set(id, ControlValue(int64_t(value))); return true;
        case ControlTypeFloat: pending.set(id, ControlValue(float(value))); return true;
        default: return false;
        }
    }
};

// Both are called on a thread of libcamera's.
void Hub::onCompleted(Request *request) {
    if (request->status() == Request::RequestCancelled) return;
    std::lock_guard<std::mutex> lock(mutex);
    if (session) session->didComplete(request);
}

void Hub::onDisconnected() {
    std::lock_guard<std::mutex> lock(mutex);
    if (session) session->didDisconnect();
}

Hub &Hub::of(const std::shared_ptr<Camera> &camera) {
    static std::mutex all;
    static auto *hubs = new std::vector<Hub *>;
    std::lock_guard<std::mutex> lock(all);
    for (Hub *hub : *hubs)
        if (hub->camera.lock() == camera) return *hub;
    auto *hub = new Hub;
    hub->camera = camera;
    hubs->push_back(hub);
    camera->requestCompleted.connect(hub, &Hub::onCompleted);
    camera->disconnected.connect(hub, &Hub::onDisconnected);
    return *hub;
}

const char *lc_version(void) {
    return LC_VERSION_TEXT(LIBCAMERA_VERSION_MAJOR, LIBCAMERA_VERSION_MINOR, LIBCAMERA_VERSION_PATCH);
}

int lc_list(lc_camera *cameras, int capacity) {
    return guarded([&] {
        std::lock_guard<std::mutex> uses(shared().use);
        if (int error = shared().start()) return error;
        auto found = shared().manager->cameras();
        for (size_t index = 0; index < found.size() && int(index) < capacity; index++) {
            lc_camera &camera = cameras[index];
            const ControlList &properties = found[index]->properties();
            copyText(found[index]->id(), camera.id, sizeof camera.id);
            copyText(valueOr<std::string>(properties, properties::Model, ""), camera.model, sizeof camera.model);
            camera.location = valueOr<int32_t>(properties, properties::Location, -1);
            camera.rotation = valueOr<int32_t>(properties, properties::Rotation, 0);
        }
        return int(found.size());
    });
}

int lc_session_open(const char *id, lc_session **result) {
    return guarded([&] {
        std::lock_guard<std::mutex> uses(shared().use);
        if (int error = shared().start()) return error;
        auto camera = shared().manager->get(std::string(id));
        if (!camera) return -ENODEV;
        auto session = std::make_unique<lc_session>();
        if (int error = camera->acquire()) return error;
        session->camera = camera;
        {
            std::lock_guard<std::mutex> lock(sessionsMutex);
            sessions++;
        }
        session->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (session->event < 0) return -errno;
        Hub &hub = Hub::of(camera);
        {
            std::lock_guard<std::mutex> lock(hub.mutex);
            hub.session = session.get();
        }
        session->hub = &hub;
        session->configuration = camera->generateConfiguration({StreamRole::VideoRecording});
        if (!session->configuration || session->configuration->empty()) return -EINVAL;
        *result = session.release();
        return 0;
    });
}

void lc_session_close(lc_session *session) {
    guarded([&] {
        session->stop();
        session->isLost = session->isLost || hasVanished();
        if (!session->isLost) {
            delete session;
            return 0;
        }
        // Left as it is: each way to end it may end the process. libcamera would also end the process when the device
        // returns under the name of a camera that it still has, so it starts again, unless another session runs.
        {
            std::lock_guard<std::mutex> lock(session->hub->mutex);
            session->hub->session = nullptr;
        }
        bool isLast;
        {
            std::lock_guard<std::mutex> lock(sessionsMutex);
            isLast = --sessions == 0;
        }
        if (isLast) shared().restart();
        auto left = deletedNodes();
        std::lock_guard<std::mutex> lock(sessionsMutex);
        abandoned().swap(left);
        return 0;
    });
}

void lc_restart(void) {
    guarded([&] {
        {
            std::lock_guard<std::mutex> lock(sessionsMutex);
            if (sessions > 0) return 0;
        }
        shared().restart();
        return 0;
    });
}

int lc_session_has_gone(lc_session *session) {
    return guarded([&] {
        session->isLost = session->isLost || hasVanished();
        return session->isLost ? 1 : 0;
    });
}

int lc_session_formats(lc_session *session, lc_format *formats, int capacity) {
    return guarded([&] {
        const StreamFormats &known = session->configuration->at(0).formats();
        auto list = known.pixelformats();
        for (size_t index = 0; index < list.size() && int(index) < capacity; index++) {
            SizeRange range = known.range(list[index]);
            // A modifier means tiles or compression, which nothing here reads.
            uint32_t code = list[index].modifier() ? 0 : list[index].fourcc();
            formats[index] = {code, range.min.width, range.min.height, range.max.width, range.max.height,
                              range.hStep, range.vStep};
        }
        return int(list.size());
    });
}

int lc_session_sizes(lc_session *session, uint32_t fourcc, uint32_t *sizes, int capacity) {
    return guarded([&] {
        auto list = session->configuration->at(0).formats().sizes(PixelFormat(fourcc));
        for (size_t index = 0; index < list.size() && int(index) < capacity; index++) {
            sizes[2 * index] = list[index].width;
            sizes[2 * index + 1] = list[index].height;
        }
        return int(list.size());
    });
}

int lc_session_configure(
    lc_session *session, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t buffers, lc_stream *result) {
    return guarded([&] {
        session->stop();
        session->requests.clear();
        session->allocator.reset();
        StreamConfiguration &stream = session->configuration->at(0);
        stream.pixelFormat = PixelFormat(fourcc);
        stream.size = Size(width, height);
        stream.bufferCount = buffers;
        if (session->configuration->validate() == CameraConfiguration::Invalid) return -EINVAL;
        if (int error = session->camera->configure(session->configuration.get())) return error;
        session->stream = stream.stream();
        *result = {};
        result->fourcc = stream.pixelFormat.modifier() ? 0 : stream.pixelFormat.fourcc();
        result->width = stream.size.width;
        result->height = stream.size.height;
        result->stride = stream.stride;
        result->buffers = stream.bufferCount;
        if (stream.colorSpace && stream.colorSpace->ycbcrEncoding != ColorSpace::YcbcrEncoding::None) {
            result->has_color = true;
            result->is_bt709 = stream.colorSpace->ycbcrEncoding == ColorSpace::YcbcrEncoding::Rec709;
            result->is_full_range = stream.colorSpace->range == ColorSpace::Range::Full;
        }
        return 0;
    });
}

int lc_session_allocate(lc_session *session) {
    return guarded([&] {
        session->requests.clear();
        session->allocator = std::make_unique<FrameBufferAllocator>(session->camera);
        int count = session->allocator->allocate(session->stream);
        if (count < 0) return count;
        const auto &buffers = session->allocator->buffers(session->stream);
        for (size_t index = 0; index < buffers.size(); index++) {
            auto request = session->camera->createRequest(index);
            if (!request) return -ENOMEM;
            if (int error = request->addBuffer(session->stream, buffers[index].get())) return error;
            session->requests.push_back(std::move(request));
        }
        std::lock_guard<std::mutex> lock(session->mutex);
        session->completed.assign(std::max<size_t>(1, buffers.size()), 0);
        session->first = session->count = 0;
        return int(buffers.size());
    });
}

int lc_session_buffer(lc_session *session, int index, lc_buffer *result) {
    return guarded([&] {
        const auto &buffers = session->allocator->buffers(session->stream);
        if (index < 0 || size_t(index) >= buffers.size()) return -EINVAL;
        const auto &planes = buffers[size_t(index)]->planes();
        if (planes.size() > LC_PLANES) return -EINVAL;
        *result = {};
        result->planes = uint32_t(planes.size());
        for (size_t plane = 0; plane < planes.size(); plane++) {
            result->descriptors[plane] = planes[plane].fd.get();
            bool isKnown = planes[plane].offset != FrameBuffer::Plane::kInvalidOffset;
            result->offsets[plane] = isKnown ? planes[plane].offset : 0;
            result->lengths[plane] = planes[plane].length;
        }
        return 0;
    });
}

static int synchronize(int descriptor, uint64_t flags) {
    struct dma_buf_sync request = {flags | DMA_BUF_SYNC_READ};
    // Memory that is no dma-buf, or needs none of it, refuses.
    return ioctl(descriptor, DMA_BUF_IOCTL_SYNC, &request) == 0 ? 0 : -errno;
}

int lc_begin_read(int descriptor) { return synchronize(descriptor, DMA_BUF_SYNC_START); }
int lc_end_read(int descriptor) { return synchronize(descriptor, DMA_BUF_SYNC_END); }

int lc_session_controls(lc_session *session, lc_control *result, int capacity) {
    return guarded([&] {
        int count = 0;
        for (const auto &[id, info] : session->camera->controls()) {
            if (count < capacity) {
                lc_control &control = result[count];
                control = {};
                control.id = id->id();
                copyText(id->name(), control.name, sizeof control.name);
                control.kind = kind(id, info);
                control.has_default = !info.def().isNone();
                control.minimum = number(info.min());
                control.maximum = number(info.max());
                control.standard = number(info.def());
            }
            count++;
        }
        return count;
    });
}

int lc_session_set(lc_session *session, uint32_t id, double value) {
    return guarded([&] { return session->setNumber(id, value) ? 0 : -EINVAL; });
}

int lc_session_start(lc_session *session, int64_t shortest, int64_t longest) {
    return guarded([&] {
        const ControlInfoMap &infos = session->camera->controls();
        auto found = infos.find(controls::FrameDurationLimits.id());
        if (found != infos.end() && shortest > 0) {
            int64_t limits[2] = {shortest, longest};
            session->pending.set(controls::FrameDurationLimits.id(), ControlValue(Span<const int64_t>(limits, 2)));
        }
        if (int error = session->camera->start(&session->pending)) return error;
        session->pending.clear();
        session->isRunning = true;
        return 0;
    });
}

int lc_session_stop(lc_session *session) {
    return guarded([&] { return session->stop(); });
}

int lc_session_queue(lc_session *session, int index) {
    return guarded([&] {
        if (index < 0 || size_t(index) >= session->requests.size()) return -EINVAL;
        Request *request = session->requests[size_t(index)].get();
        request->reuse(Request::ReuseBuffers);
        if (!session->pending.empty()) {
            request->controls().merge(session->pending);
            session->pending.clear();
        }
        return session->camera->queueRequest(request);
    });
}

int lc_session_descriptor(lc_session *session) { return session->event; }

int lc_session_take(lc_session *session, lc_frame *frame) {
    return guarded([&] {
        int index;
        {
            std::lock_guard<std::mutex> lock(session->mutex);
            // What was completed before the camera went is still good.
            if (session->count == 0) {
                uint64_t value;
                if (session->hasGone) return -ENODEV;
                (void)!read(session->event, &value, sizeof value);
                return -EAGAIN;
            }
            index = session->completed[session->first];
            session->first = (session->first + 1) % session->completed.size();
            session->count--;
        }
        Request *request = session->requests[size_t(index)].get();
        const FrameMetadata &metadata = request->findBuffer(session->stream)->metadata();
        const ControlList &values = request->metadata();
        *frame = {};
        frame->index = index;
        frame->is_complete = metadata.status == FrameMetadata::FrameSuccess;
        frame->sequence = metadata.sequence;
        frame->buffer_time = int64_t(metadata.timestamp);
        frame->sensor_time = valueOr<int64_t>(values, controls::SensorTimestamp, 0);
        frame->exposure = valueOr<int32_t>(values, controls::ExposureTime, 0);
        frame->gain = valueOr<float>(values, controls::AnalogueGain, 0);
        return 0;
    });
}

#else

const char *lc_version(void) { return nullptr; }
int lc_list(lc_camera *, int) { return -ENOSYS; }
int lc_session_open(const char *, lc_session **) { return -ENOSYS; }
void lc_session_close(lc_session *) {}
int lc_session_formats(lc_session *, lc_format *, int) { return -ENOSYS; }
int lc_session_sizes(lc_session *, uint32_t, uint32_t *, int) { return -ENOSYS; }
int lc_session_configure(lc_session *, uint32_t, uint32_t, uint32_t, uint32_t, lc_stream *) { return -ENOSYS; }
int lc_session_allocate(lc_session *) { return -ENOSYS; }
int lc_session_buffer(lc_session *, int, lc_buffer *) { return -ENOSYS; }
int lc_begin_read(int) { return -ENOSYS; }
int lc_end_read(int) { return -ENOSYS; }
int lc_session_controls(lc_session *, lc_control *, int) { return -ENOSYS; }
int lc_session_set(lc_session *, uint32_t, double) { return -ENOSYS; }
int lc_session_start(lc_session *, int64_t, int64_t) { return -ENOSYS; }
int lc_session_stop(lc_session *) { return -ENOSYS; }
int lc_session_queue(lc_session *, int) { return -ENOSYS; }
int lc_session_descriptor(lc_session *) { return -1; }
void lc_restart(void) {}
int lc_session_has_gone(lc_session *) { return -ENOSYS; }
int lc_session_take(lc_session *, lc_frame *) { return -ENOSYS; }

#endif
