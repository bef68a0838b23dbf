import VideoCapturing

/// Outputs and encoders that fail, and the end of their supply.
extension MediaPublisher {
    /// Ends what has failed: a sink of a stage, or the stage.
    func handle(_ failure: EncodingConsumer.Failure, ofStage number: Int) {
        let (records, stages) = state.withLock { ($0.records, $0.stages) }
        if let name = failure.sink {
            guard let record = records.first(where: { "\($0.id.index)" == name }), record.markFailed() else { return }
            disconnect(record)
            post(.outputsFailed([record.id], failure.error))
        } else if let stage = stages.first(where: { $0.number == number }) {
            fail(stage, failure.error)
        }
    }

    /// Ends an output that has failed, so that no frames are counted as written. The first error counts.
    ///
    /// - Parameter isReported: whether the output reports it itself, maybe on a thread for which its end waits.
    func fail(_ record: OutputRecord, _ error: any Error, isReported: Bool = false) {
        guard record.markFailed() else { return }
        disconnect(record, isApart: isReported)
        post(.outputsFailed([record.id], error))
    }

    /// Ends the supply of an output that needs nothing more.
    func complete(_ record: OutputRecord) {
        guard record.markCompleted() else { return }
        // The output reports it, too.
        disconnect(record, isApart: true)
        post(.outputCompleted(record.id))
    }

    /// Ends the outputs of an encoder that has failed, their sound as well: each is finished with what it has.
    func fail(_ stage: EncoderStage, _ error: any Error) {
        let failed = state.withLock { $0.records }.filter { $0.stage === stage && $0.markFailed() }
        guard !failed.isEmpty else { return }
        let isStalled = stage.isStalled
        stage.retire(at: video)
        // One that does not return cannot be waited for.
        if !isStalled { for record in failed { disconnect(record) } }
        post(.outputsFailed(failed.map(\.id), error))
    }

    /// Whether the caller is a thread that delivers to outputs.
    private var isCalledByOutput: Bool {
        let (records, stages) = state.withLock { ($0.records, $0.stages) }
        return records.contains(where: \.isOnOwnThread) || stages.contains { $0.subscription?.isOnOwnThread ?? false }
    }

    /// Ends the supply of an output; on a separate thread where the caller delivers to outputs, since such a one must not
    /// wait for another one, which may be waiting for it.
    ///
    /// - Parameter isApart: whether the caller is a thread that the end of the output may wait for.
    func disconnect(
        _ record: OutputRecord, isApart: Bool = false, then next: @escaping @Sendable () -> Void = {}
    ) {
        guard isApart || isCalledByOutput else {
            endSupply(of: record)
            return next()
        }
        record.beginEnding()
        do {
            try CaptureThread(name: "end output") { [self] in
                endSupply(of: record)
                record.endEnding()
                next()
            }
        } catch {
            // It is fed on, and takes nothing, until the end of the run.
            record.endEnding()
        }
    }

    /// Waits for calls of the output that are running.
    private func endSupply(of record: OutputRecord) {
        if let subscription = record.subscription { video.remove(subscription) }
        if let relay = record.relay { passing?.remove(relay) }
        disconnectAudio(record)
        guard let stage = record.stage else { return }
        for name in record.sinks { stage.encoding.remove(name) }
        stage.retireIfIdle(at: video)
    }
}
