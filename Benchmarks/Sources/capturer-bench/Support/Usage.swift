#if canImport(Glibc)
    import Glibc
#endif

/// The CPU time and the time at one moment, or their difference.
struct Usage {
    /// Nanoseconds of CPU, of all threads, user and kernel.
    var cpu: Double
    /// Nanoseconds.
    var wall: Double

    static var now: Usage {
        Usage(cpu: nanoseconds(CLOCK_PROCESS_CPUTIME_ID), wall: nanoseconds(CLOCK_MONOTONIC))
    }

    static func - (end: Usage, start: Usage) -> Usage {
        Usage(cpu: end.cpu - start.cpu, wall: end.wall - start.wall)
    }

    static func / (usage: Usage, count: Int) -> Usage {
        Usage(cpu: usage.cpu / Double(count), wall: usage.wall / Double(count))
    }

    /// What `body` costs.
    static func of(_ body: () throws -> Void) rethrows -> Usage {
        let start = now
        try body()
        return now - start
    }

    private static func nanoseconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

/// Lets each of `turns` run once a round, so that what the machine does besides falls on all of them alike.
func inTurns(rounds: Int, _ turns: [() throws -> Usage]) throws -> [[Usage]] {
    var results = [[Usage]](repeating: [], count: turns.count)
    for round in 0..<rounds {
        for place in turns.indices {
            let index = (place + round) % turns.count
            results[index].append(try turns[index]())
        }
    }
    return results
}

extension Array where Element == Double {
    /// The value that half of them do not exceed.
    var median: Double { quantile(0.5) }

    func quantile(_ part: Double) -> Double {
        let ordered = sorted()
        return ordered[Swift.min(ordered.count - 1, Int((Double(ordered.count) * part).rounded(.up)) - 1)]
    }
}

extension Array where Element == Usage {
    var medianCPU: Double { map(\.cpu).median }
    var medianWall: Double { map(\.wall).median }

    /// The median of the ratios within each round, which is steadier than the ratio of two medians.
    func medianCPURatio(to other: [Usage]) -> Double {
        zip(self, other).map { $0.cpu / $1.cpu }.median
    }
}
