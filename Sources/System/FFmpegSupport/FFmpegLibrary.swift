import CLibAV

/// Settings of FFmpeg for the whole process, made once before its first use here.
package enum FFmpegLibrary {
    /// The largest allocation of FFmpeg: more than the largest frame needs, and less than an index whose size is damaged.
    private static let largestAllocation = 512 << 20

    /// The library reports damage on standard error, and names that may contain secrets; here errors are thrown.
    package static let prepared: Void = {
        av_log_set_level(AV_LOG_QUIET)
        av_max_alloc(largestAllocation)
        avformat_network_init()
    }()
}

/// The library's description of an error code, as in `Invalid data found when processing input`.
package func describeAV(_ code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
        guard let start = text.baseAddress, av_strerror(code, start, text.count) >= 0 else { return "error \(code)" }
        return String(cString: start)
    }
}

/// The options of a call of FFmpeg, which removes those that it takes.
package struct FFmpegOptions: ~Copyable {
    /// For the call.
    package var dictionary: OpaquePointer?

    /// Options by name.
    package init(_ values: [String: String] = [:]) {
        for (name, value) in values { set(name, value) }
    }

    deinit {
        var dictionary = dictionary
        av_dict_free(&dictionary)
    }

    /// Sets an option, or replaces it.
    package mutating func set(_ name: String, _ value: String) { av_dict_set(&dictionary, name, value, 0) }

    /// The names of those that were not taken.
    package var names: [String] {
        var names: [String] = []
        var entry: UnsafeMutablePointer<AVDictionaryEntry>?
        while let next = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX) {
            names.append(String(cString: next.pointee.key))
            entry = next
        }
        return names.sorted()
    }
}
