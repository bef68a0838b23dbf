"""Reads the outline of a WebM file, written without a look at the writer under test: which clusters are whole,
and whether the file was closed."""

import pathlib
import struct
from dataclasses import dataclass, field

SEGMENT, CLUSTER, INFO, DURATION = 0x18538067, 0x1F43B675, 0x1549A966, 0x4489
CUES, CUE_POINT, SEEK_HEAD = 0x1C53BB6B, 0xBB, 0x114D9B74
TIMESTAMP, SIMPLE_BLOCK, BLOCK_GROUP = 0xE7, 0xA3, 0xA0
TOP_LEVEL = {CLUSTER, INFO, CUES, SEEK_HEAD, 0x1654AE6B, 0x1254C367, 0x1043A770, 0x1941A469}


@dataclass
class Cluster:
    start: int
    end: int = 0
    timestamp: int = 0
    blocks: int = 0
    is_whole: bool = False
    begins_with_key_frame: bool = False


@dataclass
class Outline:
    clusters: list = field(default_factory=list)
    elements: list = field(default_factory=list)
    cue_points: int = 0
    duration: float = None
    is_segment_sized: bool = False

    @property
    def whole_blocks(self):
        """How many frames lie in clusters that are all there."""
        return sum(cluster.blocks for cluster in self.clusters if cluster.is_whole)


def number(data, at, keep_marker):
    """An EBML number: its value and the position after it; None for the value when it says `unknown`."""
    if at >= len(data) or data[at] == 0:
        raise EOFError
    length = 9 - data[at].bit_length()
    if at + length > len(data):
        raise EOFError
    value = int.from_bytes(data[at:at + length], "big")
    if not keep_marker:
        value &= (1 << 7 * length) - 1
        if value == (1 << 7 * length) - 1:
            value = None
    return value, at + length


def children(data, at, end):
    """The elements from `at` to `end`: id, start, start of the content, end; the end is None if unknown."""
    while at < end:
        start = at
        identifier, at = number(data, at, keep_marker=True)
        size, at = number(data, at, keep_marker=False)
        yield identifier, start, at, None if size is None else at + size
        if size is None:
            return
        at += size


def read_cluster(data, start, content, end):
    """Reads a cluster; one of unknown size is whole when another top-level element follows it."""
    cluster = Cluster(start)
    limit = len(data) if end is None else min(end, len(data))
    cluster.end = limit
    try:
        for identifier, begin, body, stop in children(data, content, limit):
            if end is None and identifier in TOP_LEVEL:
                cluster.end, cluster.is_whole = begin, True
                return cluster
            if stop is None or stop > len(data):
                return cluster
            if identifier == TIMESTAMP:
                cluster.timestamp = int.from_bytes(data[body:stop], "big")
            elif identifier in (SIMPLE_BLOCK, BLOCK_GROUP):
                if cluster.blocks == 0 and identifier == SIMPLE_BLOCK:
                    cluster.begins_with_key_frame = bool(data[body + 3] & 0x80)
                cluster.blocks += 1
    except EOFError:
        return cluster
    cluster.is_whole = end is not None and end <= len(data)
    return cluster


def outline(file):
    """The outline of a WebM file, as far as it goes."""
    data = pathlib.Path(file).read_bytes()
    result = Outline()
    try:
        segment = next(item for item in children(data, 0, len(data)) if item[0] == SEGMENT)
    except (StopIteration, EOFError):
        return result
    result.is_segment_sized = segment[3] is not None
    at = segment[2]
    end = len(data) if segment[3] is None else min(segment[3], len(data))
    while at < end:
        try:
            identifier, start, content, stop = next(children(data, at, end))
        except (StopIteration, EOFError):
            break
        result.elements.append(identifier)
        if identifier == CLUSTER:
            cluster = read_cluster(data, start, content, stop)
            result.clusters.append(cluster)
            at = cluster.end
            continue
        if stop is None or stop > len(data):
            break
        inner = list(children(data, content, stop)) if identifier in (INFO, CUES) else []
        for child, _, body, after in inner:
            if child == DURATION:
                result.duration = struct.unpack(">d" if after - body == 8 else ">f", data[body:after])[0]
            result.cue_points += child == CUE_POINT
        at = stop
    return result
