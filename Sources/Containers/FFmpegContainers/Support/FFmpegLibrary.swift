import CLibAV

/// What is set for all of FFmpeg in this process, once, before its first use here.
enum FFmpegLibrary {
    /// The largest piece of memory that FFmpeg may ask for: more than the largest picture needs, and less than an index
    /// that a few damaged bytes claim.
    static let largestAllocation = 512 << 20

    /// The library writes to standard error whatever it meets in a damaged file; here errors are thrown.
    static let prepared: Void = {
        av_log_set_level(AV_LOG_QUIET)
        av_max_alloc(largestAllocation)
    }()
}
