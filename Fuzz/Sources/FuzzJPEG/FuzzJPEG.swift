import FrameProcessing
import JPEGCodec
import VideoCapturing

/// Any bytes end in a picture or in an error; what is decoded does not depend on what was decoded before, and has the
/// size that the head states.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJPEG(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    let header = try? JPEGHeader(bytes)
    let once = try? usedDecoder.decode(bytes)
    let fresh = JPEGDecoder(pixelFormat: .i420, maximumPixelCount: most)
    guard let again = try? fresh.decode(bytes) else {
        precondition(once == nil, "a decoder that was used takes what a new one does not")
        return 0
    }
    guard let once else { fatalError("a decoder that was used does not take what a new one does") }
    guard let header else { fatalError("a picture without a head") }
    precondition(once.width == header.width && once.height == header.height)
    precondition(again.width == header.width && again.height == header.height)
    for row in 0..<again.height {
        once.withRow(row, ofPlane: 0) { one in
            again.withRow(row, ofPlane: 0) { two in
                precondition(one.elementsEqual(two), "a decoder that was used decodes otherwise than a new one")
            }
        }
    }
    for row in 0..<again.planes[1].rows {
        once.withRow(row, ofPlane: 1) { both in
            for plane in 1...2 {
                again.withRow(row, ofPlane: plane) { one in
                    for column in one.indices {
                        precondition(one[column] == both[2 * column + plane - 1], "chroma depends on the format")
                    }
                }
            }
        }
    }
    // What was decoded can be encoded.
    let frame = VideoFrame(buffer: once, timestamp: .zero, color: .jpeg)
    guard (try? encoder.encode(frame, output: { precondition($0.data.count > 100) })) != nil
    else {
        fatalError("a decoded picture is not encoded")
    }
    return 0
}

/// Small pictures, so that many fit into a second.
private let most = 1 << 14
private nonisolated(unsafe) let usedDecoder = JPEGDecoder(maximumPixelCount: most)
private nonisolated(unsafe) let encoder = try! JPEGEncoder(passesThrough: false)
