import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The pixels of one frame: immutable from the moment it exists, freed or recycled when its last reference is
/// released.
///
/// ```
/// plane 0 ┌─ rowBytes ──────┬ padding ┐  each plane starts at a multiple of 64 bytes,
///         │ samples         │         │  each row too, and 64 readable bytes follow the
///  rows   │                 │         │  last one, so that vector code may run over
///         └─────────────────┴─────────┘  (memory of a driver's keeps the driver's layout)
///         └──── bytesPerRow ──────────┘
/// plane 1 …
/// ```
///
/// Make one with ``PixelBufferPool/makeBuffer(_:width:height:fill:)``, or ``init(wrapping:as:width:height:exporter:release:)`` for
/// memory that belongs to a driver or a library. May be read from any number of threads at once.
///
/// `@unchecked Sendable`: the memory is written only by a ``PixelWriter``, before the buffer has been
/// handed out, and again only when there is no other reference to it.
public final class PixelBuffer: @unchecked Sendable {
    /// How the samples lie in memory.
    public let pixelFormat: PixelFormat
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The shape of each plane.
    public let planes: PlaneList<PixelBuffer.Plane>

    @usableFromInline let bases: PlaneList<UnsafeMutableRawPointer>
    private let release: Release
    let exporter: PixelBuffer.DMABuffer.Exporter?
    /// Counts finished reads. A read ends with a releasing increment and a pool's reuse begins with an
    /// acquiring load, so the recycled memory is handed over by rule and not by a property of the
    /// reference counts that only the runtime knows of.
    private let finishedReads = Atomic<UInt>(0)

    private enum Release {
        case free(UnsafeMutableRawPointer)
        case call(@Sendable () -> Void)
    }

    /// Memory of our own, in the layout that the picture above shows.
    ///
    /// Throws `invalidConfiguration` for a size out of range or a compressed format without a
    /// `byteCount`, and `outOfMemory`.
    package init(
        allocating pixelFormat: PixelFormat, width: Int, height: Int, byteCount compressed: Int? = nil
    ) throws(CaptureError) {
        try VideoFormat.validate(width: width, height: height)
        var planes = PlaneList<PixelBuffer.Plane>()
        var total = 0
        for index in 0..<pixelFormat.planeCount {
            let rowBytes = compressed ?? pixelFormat.rowBytes(ofPlane: index, width: width)
            let rows = pixelFormat.rows(ofPlane: index, height: height)
            let bytesPerRow = (rowBytes + alignment - 1) / alignment * alignment
            planes.append(
                PixelBuffer.Plane(
                    rowBytes: rowBytes, bytesPerRow: bytesPerRow, rows: rows, byteCount: bytesPerRow * rows))
            total += bytesPerRow * rows
        }
        var memory: UnsafeMutableRawPointer?
        guard posix_memalign(&memory, alignment, total + alignment) == 0, let memory else {
            throw CaptureError(
                .outOfMemory, operation: "allocate a picture", subject: "\(pixelFormat) \(width)x\(height)",
                message: "The machine has no \(total) bytes left; use a smaller size or shorter queues.")
        }
        var bases = PlaneList<UnsafeMutableRawPointer>()
        var offset = 0
        for plane in planes {
            bases.append(memory + offset)
            offset += plane.byteCount
        }
        self.pixelFormat = pixelFormat
        self.width = width
        self.height = height
        self.planes = planes
        self.bases = bases
        self.release = .free(memory)
        exporter = nil
    }

    /// A picture in memory that belongs to a driver or to another library.
    ///
    /// - Parameters:
    ///   - memory: for each plane its first byte, how many bytes may be read from there, and the bytes
    ///     from row to row. Must stay readable and unchanged until `release` is called.
    ///   - pixelFormat: how the samples lie in `memory`.
    ///   - width: the width in pixels.
    ///   - height: the height in pixels.
    ///   - release: called once, on the thread that releases the last reference to the buffer; must return soon.
    ///     Not called when this initializer throws.
    ///   - exporter: exports the memory for other devices, as ``dmaBuffers``; nil when it cannot be.
    /// - Throws: `invalidConfiguration` when a plane is missing, a row is shorter than its samples, or
    ///   the rows do not fit into the bytes.
    public init(
        wrapping memory: PlaneList<PixelBuffer.PlaneMemory>, as pixelFormat: PixelFormat, width: Int, height: Int,
        exporter: PixelBuffer.DMABuffer.Exporter? = nil, release: @escaping @Sendable () -> Void
    ) throws(CaptureError) {
        try VideoFormat.validate(width: width, height: height)
        guard memory.count == pixelFormat.planeCount else {
            throw PixelBuffer.layoutError(
                pixelFormat, width, height, "it has \(pixelFormat.planeCount) planes, but \(memory.count) were given")
        }
        var planes = PlaneList<PixelBuffer.Plane>()
        var bases = PlaneList<UnsafeMutableRawPointer>()
        for (index, plane) in memory.enumerated() {
            let rowBytes =
                pixelFormat.isCompressed ? plane.byteCount : pixelFormat.rowBytes(ofPlane: index, width: width)
            let rows = pixelFormat.rows(ofPlane: index, height: height)
            guard plane.bytesPerRow >= rowBytes else {
                throw PixelBuffer.layoutError(
                    pixelFormat, width, height,
                    "plane \(index) has rows of \(rowBytes) bytes, but a stride of \(plane.bytesPerRow)")
            }
            let least = plane.bytesPerRow.multipliedReportingOverflow(by: max(0, rows - 1))
            guard !least.overflow, least.partialValue <= Int.max - rowBytes,
                least.partialValue + rowBytes <= plane.byteCount
            else {
                throw PixelBuffer.layoutError(
                    pixelFormat, width, height,
                    "plane \(index) needs \(rows) rows of \(plane.bytesPerRow) bytes, but only \(plane.byteCount) bytes were given"
                )
            }
            planes.append(
                PixelBuffer.Plane(
                    rowBytes: rowBytes, bytesPerRow: plane.bytesPerRow, rows: rows, byteCount: plane.byteCount))
            // Never written through: only pooled buffers get a `PixelWriter`.
            bases.append(UnsafeMutableRawPointer(mutating: plane.base))
        }
        self.pixelFormat = pixelFormat
        self.width = width
        self.height = height
        self.planes = planes
        self.bases = bases
        self.release = .call(release)
        self.exporter = exporter
    }

    deinit {
        switch release {
        case .free(let memory): free(memory)
        case .call(let release): release()
        }
    }

    private static func layoutError(
        _ pixelFormat: PixelFormat, _ width: Int, _ height: Int, _ reason: String
    ) -> CaptureError {
        CaptureError(
            .invalidConfiguration, operation: "wrap a picture", subject: "\(pixelFormat) \(width)x\(height)",
            message: "The memory does not hold the picture: \(reason).")
    }
}

extension PixelBuffer {
    /// The memory of one plane that belongs to a driver or a library.
    public struct PlaneMemory {
        /// The first byte of the first row.
        public var base: UnsafeRawPointer
        /// How many bytes may be read from ``base`` on.
        public var byteCount: Int
        /// The bytes from the start of a row to the start of the next.
        public var bytesPerRow: Int

        public init(base: UnsafeRawPointer, byteCount: Int, bytesPerRow: Int) {
            self.base = base
            self.byteCount = byteCount
            self.bytesPerRow = bytesPerRow
        }
    }
}

// Inlinable: other modules would look up the types at run time for each row otherwise.
extension PixelBuffer {
    /// Runs `body` with the bytes of one plane, padding between the rows included.
    @inlinable public func withBytes<Result, Failure: Error>(
        ofPlane plane: Int, _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { endRead() }
        return try body(UnsafeRawBufferPointer(start: bases[plane], count: planes[plane].byteCount).bytes)
    }

    /// Runs `body` with the samples of one row of a plane, without padding.
    @inlinable public func withRow<Result, Failure: Error>(
        _ row: Int, ofPlane plane: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(row >= 0 && row < planes[plane].rows, "row \(row) of \(planes[plane].rows)")
        defer { endRead() }
        let start = bases[plane] + row * planes[plane].bytesPerRow
        return try body(UnsafeRawBufferPointer(start: start, count: planes[plane].rowBytes))
    }

    /// Runs `body` with the first byte of each plane, for C libraries; the shapes are in ``planes``.
    /// The pointers are valid during the call only.
    @inlinable public func withUnsafePlanes<Result, Failure: Error>(
        _ body: (PlaneList<UnsafeRawPointer>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { endRead() }
        return try body(bases.mapPlanes { UnsafeRawPointer($0) })
    }

    @usableFromInline func endRead() {
        finishedReads.wrappingAdd(1, ordering: .releasing)
    }

    /// Whether the memory of a buffer may be written again, because no frame holds the buffer: for sources whose
    /// driver fills the same few buffers over and over, each wrapped once. So a frame costs no allocation.
    ///
    /// When it returns true, all that readers have done with the memory has happened before what follows.
    ///
    /// - Parameter buffer: the only reference to the buffer that the caller has.
    public static func isReusable(_ buffer: inout PixelBuffer) -> Bool {
        guard isKnownUniquelyReferenced(&buffer) else { return false }
        _ = buffer.finishedReads.load(ordering: .acquiring)
        return true
    }

    /// As for a buffer; false without one.
    public static func isReusable(_ buffer: inout PixelBuffer?) -> Bool {
        guard isKnownUniquelyReferenced(&buffer) else { return false }
        _ = buffer?.finishedReads.load(ordering: .acquiring)
        return true
    }

    /// For pools: a writer for the memory. Only while there is no other reference to the buffer.
    package func makeWriter() -> PixelWriter {
        PixelWriter(pixelFormat: pixelFormat, width: width, height: height, planes: planes, bases: bases)
    }
}

/// The bytes to which planes and rows are aligned: a cache line, and the widest vector of AVX-512.
private let alignment = 64
